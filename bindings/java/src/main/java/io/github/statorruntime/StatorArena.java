package io.github.statorruntime;

/**
 * Holds the outputs of one run, which stay as they are until the arena is reset, closed, or given to another run. It
 * outlives the runtime and the module. Two arenas make double buffering.
 */
public final class StatorArena extends Handle {
  StatorArena(long address) {
    super(address, Native::stator_arena_release);
  }

  /**
   * An output, without a copy. While it is open the arena is busy; if the arena is closed, the output stays.
   *
   * @param index from 0; the tensors of the result are counted depth first
   * @return a tensor to be closed
   */
  public StatorTensor output(int index) {
    long arena = enter();
    try {
      return StatorTensor.takeExport(Status.make(out -> Native.stator_arena_export(arena, index, out)));
    } finally {
      exit();
    }
  }

  /**
   * The whole result with its structure. While a tensor in it is open the arena is busy.
   *
   * @return as in {@link StatorModule#call}
   */
  public Object result() {
    long arena = enter();
    try {
      return NativeValue.take(Status.make(out -> Native.stator_arena_result(arena, out)));
    } finally {
      exit();
    }
  }

  /** Empties the arena and keeps its memory for the next run. */
  public void reset() {
    long arena = enter();
    try {
      Status.check(Native.stator_arena_reset(arena));
    } finally {
      exit();
    }
  }

  /** Empties the arena and gives its memory back to the system. */
  public void trim() {
    long arena = enter();
    try {
      Status.check(Native.stator_arena_trim(arena));
    } finally {
      exit();
    }
  }

  /**
   * How many tensors the result holds.
   *
   * @return the count, 0 if the arena is empty
   */
  public int outputCount() {
    long arena = enter();
    try {
      return Native.stator_arena_output_count(arena);
    } finally {
      exit();
    }
  }

  /**
   * Counts the runs and resets of this arena.
   *
   * @return the generation
   */
  public long generation() {
    long arena = enter();
    try {
      return Native.stator_arena_generation(arena);
    } finally {
      exit();
    }
  }

  /**
   * The memory that the arena holds, filled or not.
   *
   * @return bytes
   */
  public long bytes() {
    long arena = enter();
    try {
      return Native.stator_arena_bytes(arena);
    } finally {
      exit();
    }
  }
}
