package io.github.statorruntime;

/** The inputs are not what the method takes: one is missing, or has another shape, dtype or type. */
public final class StatorInputException extends StatorException {
  private static final long serialVersionUID = 1;

  StatorInputException(int code, String message, String operator, String node, String source, String argument) {
    super(code, message, operator, node, source, argument);
  }
}
