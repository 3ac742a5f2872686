package io.github.statorruntime;

/** The object is in use by another caller, results of it are still held, or a wait for it took too long. */
public final class StatorBusyException extends StatorException {
  private static final long serialVersionUID = 1;

  StatorBusyException(int code, String message, String operator, String node, String source, String argument) {
    super(code, message, operator, node, source, argument);
  }
}
