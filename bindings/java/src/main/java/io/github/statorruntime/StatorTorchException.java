package io.github.statorruntime;

/** LibTorch was not found, or is not the one that the library needs. */
public final class StatorTorchException extends StatorException {
  private static final long serialVersionUID = 1;

  StatorTorchException(int code, String message, String operator, String node, String source, String argument) {
    super(code, message, operator, node, source, argument);
  }
}
