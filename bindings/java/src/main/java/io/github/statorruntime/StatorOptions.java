package io.github.statorruntime;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/**
 * Options by key; the keys are those of {@code stator_options_create} in stator.h. A key that is unknown, or that the
 * call does not take, is refused by the call.
 *
 * <pre>{@code
 * StatorModule.load(path, StatorOptions.of("weights", "map"));
 * module.createPool(StatorOptions.of("max_runtimes", 8).set("intra_op_threads", 2));
 * }</pre>
 */
public final class StatorOptions {
  private final Map<String, Object> values = new LinkedHashMap<>();

  /** No options. */
  public StatorOptions() {}

  /**
   * Options with one text.
   *
   * @param key the key
   * @param value its value
   * @return new options
   */
  public static StatorOptions of(String key, String value) {
    return new StatorOptions().set(key, value);
  }

  /**
   * Options with one whole number.
   *
   * @param key the key
   * @param value its value
   * @return new options
   */
  public static StatorOptions of(String key, long value) {
    return new StatorOptions().set(key, value);
  }

  /**
   * Sets a text.
   *
   * @param key the key
   * @param value its value
   * @return these options
   */
  public StatorOptions set(String key, String value) {
    values.put(key, value);
    return this;
  }

  /**
   * Sets a whole number.
   *
   * @param key the key
   * @param value its value
   * @return these options
   */
  public StatorOptions set(String key, long value) {
    values.put(key, value);
    return this;
  }

  /**
   * Sets a real number.
   *
   * @param key the key
   * @param value its value
   * @return these options
   */
  public StatorOptions set(String key, double value) {
    values.put(key, value);
    return this;
  }

  /** Makes a handle with the options for the duration of a call; none for null. */
  static long pass(StatorOptions options, LongUnaryOperator call) {
    if (options == null) {
      return call.applyAsLong(0);
    }
    long handle = Status.make(Native::stator_options_create);
    try {
      options.values.forEach((key, value) -> set(handle, key, value));
      return call.applyAsLong(handle);
    } finally {
      Native.stator_options_release(handle);
    }
  }

  private static void set(long options, String key, Object value) {
    try (Scratch name = Scratch.text(key)) {
      if (value instanceof Long number) {
        Status.check(Native.stator_options_set_int(options, Scratch.address(name), number));
      } else if (value instanceof Double number) {
        Status.check(Native.stator_options_set_double(options, Scratch.address(name), number));
      } else {
        try (Scratch text = Scratch.text((String) value)) {
          Status.check(Native.stator_options_set_str(options, Scratch.address(name), Scratch.address(text)));
        }
      }
    }
  }
}
