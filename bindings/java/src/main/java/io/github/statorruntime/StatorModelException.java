package io.github.statorruntime;

/** The model itself raised an error; the message is the model's. */
public final class StatorModelException extends StatorException {
  private static final long serialVersionUID = 1;

  /** The type of the model's exception, or "". */
  private final String exceptionType;

  StatorModelException(
      int code, String message, String operator, String node, String source, String argument, String exceptionType) {
    super(code, message, operator, node, source, argument);
    this.exceptionType = exceptionType;
  }

  /**
   * The type of the exception that the model raised, as in "ValueError".
   *
   * @return the type's name, or "" if it is not known
   */
  public String exceptionType() {
    return exceptionType;
  }
}
