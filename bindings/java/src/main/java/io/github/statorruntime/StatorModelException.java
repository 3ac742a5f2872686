package io.github.statorruntime;

/** The model itself raised an error; the message is the model's. */
public final class StatorModelException extends StatorException {
  private static final long serialVersionUID = 1;

  StatorModelException(int code, String message, String operator, String node, String source, String argument) {
    super(code, message, operator, node, source, argument);
  }
}
