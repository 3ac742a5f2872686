package io.github.statorruntime;

/** An object was used after it had been closed. */
public final class StatorClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  StatorClosedException(String message) {
    super(message);
  }
}
