package io.github.statorruntime;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Lends runtimes of a module to any number of threads.
 *
 * <pre>{@code
 * try (StatorRuntime runtime = pool.acquire()) {
 *   runtime.bind(forward, 0, request, DType.FLOAT32, 1, 128);
 *   runtime.run(forward, arena);
 * }
 * }</pre>
 */
public final class StatorPool extends Handle {
  private final Object identity;

  StatorPool(long address, Object identity) {
    super(address, Native::stator_pool_release);
    this.identity = identity;
  }

  /**
   * Lends a runtime, and waits until there is one.
   *
   * @return a runtime; closing it gives it back
   */
  public StatorRuntime acquire() {
    return acquire(null);
  }

  /**
   * Lends a runtime.
   *
   * @param timeout how long to wait for one: zero not at all, null without end
   * @return a runtime; closing it gives it back
   */
  public StatorRuntime acquire(Duration timeout) {
    long nanos = nanos(timeout);
    long pool = enter();
    try {
      return StatorRuntime.lend(Status.make(out -> Native.stator_pool_acquire(pool, nanos, out)), pool, identity);
    } finally {
      exit();
    }
  }

  /**
   * What the runs in the pool's runtimes have come to; how many are lent, and how many calls got none in time.
   *
   * @return JSON
   */
  public String metrics() {
    long pool = enter();
    try {
      return Status.text(out -> Native.stator_pool_metrics(pool, out));
    } finally {
      exit();
    }
  }

  /**
   * Calls a method on a runtime that is acquired for it and given back.
   *
   * @param timeout how long to wait for a runtime: zero not at all, null without end
   * @param method of the pool's module
   * @param args positional arguments, as in {@link StatorModule#call}; null for none
   * @param kwargs arguments by name; null for none
   * @param arena holds the tensors of the result: they are to be closed before it is used again
   * @return the result, as in {@link StatorModule#call}
   */
  public Object call(Duration timeout, StatorMethod method, List<?> args, Map<String, ?> kwargs, StatorArena arena) {
    long nanos = nanos(timeout);
    return StatorRuntime.call(this, method, identity, args, kwargs, arena, (pool, address, positional, named, into) ->
        out -> Native.stator_pool_call(pool, nanos, address, positional, named, into, out));
  }

  /** Gives back what the runtimes that are not lent keep between runs. */
  public void trim() {
    long pool = enter();
    try {
      Status.check(Native.stator_pool_trim(pool));
    } finally {
      exit();
    }
  }

  /**
   * How many runtimes the pool has made.
   *
   * @return the count
   */
  public int runtimeCount() {
    long pool = enter();
    try {
      return Native.stator_pool_runtime_count(pool);
    } finally {
      exit();
    }
  }

  private static long nanos(Duration timeout) {
    return timeout == null ? -1 : timeout.toNanos();
  }
}
