package io.github.statorruntime;

import java.nio.charset.StandardCharsets;
import java.util.function.LongUnaryOperator;

/** Turns what calls give back into exceptions and values. */
final class Status {
  private Status() {}

  /** Throws unless the status is NULL; releases it. */
  static void check(long status) {
    if (status != 0) {
      throw take(status);
    }
  }

  /** Calls a function whose last parameter is the handle that it makes. */
  static long make(LongUnaryOperator call) {
    try (Scratch out = Scratch.cells(1)) {
      check(call.applyAsLong(out.address));
      return out.getLong(0);
    }
  }

  /** Calls a function that makes a text. */
  static String text(LongUnaryOperator call) {
    long bytes = make(call);
    try {
      byte[] text = Scratch.read(Native.stator_bytes_data(bytes), Native.stator_bytes_size(bytes));
      return new String(text, StandardCharsets.UTF_8);
    } finally {
      Native.stator_bytes_release(bytes);
    }
  }

  private static StatorException take(long status) {
    try {
      return StatorException.make(
          Native.stator_status_code(status),
          Scratch.read(Native.stator_status_message(status)),
          Scratch.read(Native.stator_status_operator(status)),
          Scratch.read(Native.stator_status_node(status)),
          Scratch.read(Native.stator_status_source(status)),
          Scratch.read(Native.stator_status_argument(status)),
          Scratch.read(Native.stator_status_exception(status)));
    } finally {
      Native.stator_status_release(status);
    }
  }
}
