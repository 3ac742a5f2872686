package io.github.statorruntime;

/** A file could not be read, is damaged, or holds no model. */
public final class StatorLoadException extends StatorException {
  private static final long serialVersionUID = 1;

  StatorLoadException(int code, String message, String operator, String node, String source, String argument) {
    super(code, message, operator, node, source, argument);
  }
}
