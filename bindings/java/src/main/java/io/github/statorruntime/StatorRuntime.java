package io.github.statorruntime;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongBinaryOperator;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/**
 * Runs the methods of a module, for one caller at a time: the memory for intermediate tensors, what is bound to the
 * inputs, and one copy of the module's state. A second caller gets a {@link StatorBusyException}.
 *
 * <p>Bind once, run many: a run makes no object.
 *
 * <pre>{@code
 * FloatBuffer x = runtime.input(forward, 0, DType.FLOAT32, 1, 128).asFloatBuffer();
 * FloatBuffer y = runtime.output(forward, 0, DType.FLOAT32, 1, 10).asFloatBuffer();
 * for (float[] features : requests) {
 *   x.put(0, features);
 *   runtime.run(forward, arena);
 *   answer(y.get(0));
 * }
 * }</pre>
 */
public final class StatorRuntime extends Handle {
  static final int CPU = 1;

  private final Object identity;

  /** What the library reads and writes: it must stay reachable while it is bound. */
  private final Map<Place, Object> bound;

  private record Place(long method, boolean output, int index) {}

  private StatorRuntime(long address, LongConsumer release, Object identity, Map<Place, Object> bound) {
    super(address, runtime -> {
      release.accept(runtime);
      synchronized (bound) {
        bound.clear();
      }
    });
    this.identity = identity;
    this.bound = bound;
  }

  static StatorRuntime make(long address, Object identity) {
    return new StatorRuntime(address, Native::stator_runtime_release, identity, new HashMap<>());
  }

  /** A runtime of a pool's, which closing gives back. */
  static StatorRuntime lend(long address, long pool, Object identity) {
    Native.stator_pool_retain(pool);
    LongConsumer giveBack = runtime -> {
      Native.stator_status_release(Native.stator_pool_return(pool, runtime));
      Native.stator_pool_release(pool);
    };
    return new StatorRuntime(address, giveBack, identity, new HashMap<>());
  }

  /**
   * Makes a runtime with a copy of this one's state as it is now; nothing is bound in it.
   *
   * @return a new runtime
   */
  public StatorRuntime copy() {
    long runtime = enter();
    try {
      return make(Status.make(out -> Native.stator_runtime_clone(runtime, out)), identity);
    } finally {
      exit();
    }
  }

  /** Sets the state back to the file's. */
  public void resetState() {
    long runtime = enter();
    try {
      Status.check(Native.stator_runtime_reset_state(runtime));
    } finally {
      exit();
    }
  }

  /** Gives back to the system what is kept between runs; state and bindings stay. */
  public void trim() {
    long runtime = enter();
    try {
      Status.check(Native.stator_runtime_trim(runtime));
    } finally {
      exit();
    }
  }

  /**
   * Profiles the runs from here on, afresh: how often each node ran, and how long it took.
   *
   * @param events how many executions of nodes are kept for {@link #profileTrace}, the first ones
   */
  public void startProfile(long events) {
    long runtime = enter();
    try {
      Status.check(Native.stator_profile_start(runtime, events));
    } finally {
      exit();
    }
  }

  /** Ends profiling; what was recorded stays readable. */
  public void stopProfile() {
    long runtime = enter();
    try {
      Status.check(Native.stator_profile_stop(runtime));
    } finally {
      exit();
    }
  }

  /**
   * The profile as tables, slowest first; like its kin also while a run is under way.
   *
   * @return text
   */
  public String profileText() {
    return read(Native::stator_profile_text);
  }

  /**
   * The profile as stator_experimental.h describes it.
   *
   * @return JSON
   */
  public String profileJson() {
    return read(Native::stator_profile_json);
  }

  /**
   * The first executions of nodes, in the format of chrome://tracing and Perfetto.
   *
   * @return JSON
   */
  public String profileTrace() {
    return read(Native::stator_profile_trace);
  }

  private String read(LongBinaryOperator describe) {
    long runtime = enter();
    try {
      return Status.text(out -> describe.applyAsLong(runtime, out));
    } finally {
      exit();
    }
  }

  /**
   * Binds memory of the caller's, from the buffer's position on, to an input. Each run reads it anew.
   *
   * @param method of the same module
   * @param index of the input, from 0
   * @param data a direct buffer in native order; a read-only one is refused where the method writes
   * @param dtype the type of its elements
   * @param shape the sizes
   */
  public void bind(StatorMethod method, int index, ByteBuffer data, DType dtype, long... shape) {
    bind(method, index, data, dtype, shape, null);
  }

  /**
   * Binds memory of the caller's that is not contiguous to an input.
   *
   * @param method of the same module
   * @param index of the input, from 0
   * @param data a direct buffer in native order; a read-only one is refused where the method writes
   * @param dtype the type of its elements
   * @param shape the sizes
   * @param strides the strides in elements; null means contiguous
   */
  public void bind(StatorMethod method, int index, ByteBuffer data, DType dtype, long[] shape, long[] strides) {
    if (data.isReadOnly() && method != null && method.inputWritten(index)) {
      throw StatorException.invalidArgument(
          "input \"%s\" (argument %d): the method writes it, but the buffer is read-only"
              .formatted(method.inputNames().get(index), index + 1));
    }
    Buffers.check(data, dtype, shape, strides);
    try (Scratch sizes = Scratch.of(shape); Scratch steps = strides == null ? null : Scratch.of(strides)) {
      hold(method, false, index, data, runtime -> Native.stator_runtime_bind(runtime, address(method), index,
          Buffers.address(data), dtype.code, CPU, shape.length, sizes.address, Scratch.address(steps)));
    }
  }

  /**
   * Binds a value to an input: the way for inputs that are no tensors.
   *
   * @param method of the same module
   * @param index of the input, from 0
   * @param value as in {@link StatorModule#call}
   */
  public void bindValue(StatorMethod method, int index, Object value) {
    try (NativeValue made = NativeValue.of(value)) {
      hold(method, false, index, made.tensors,
          runtime -> Native.stator_runtime_bind_value(runtime, address(method), index, made.address));
    }
  }

  /**
   * Binds new memory to an input and gives it: write there, then run. Nothing is copied.
   *
   * @param method of the same module
   * @param index of the input, from 0
   * @param dtype the type of its elements
   * @param shape the sizes
   * @return a zeroed direct buffer in native order, aligned to 64
   */
  public ByteBuffer input(StatorMethod method, int index, DType dtype, long... shape) {
    ByteBuffer memory = Buffers.allocate(dtype, shape);
    bind(method, index, memory, dtype, shape, null);
    return memory;
  }

  /**
   * Binds memory of the caller's, from the buffer's position on, to an output: each run writes the tensor there. A
   * run whose result has another dtype or shape fails.
   *
   * @param method of the same module
   * @param index of the output, counted as {@link StatorArena#output} does
   * @param data a direct buffer in native order, not read-only
   * @param dtype the type of its elements
   * @param shape the sizes
   */
  public void bindOutput(StatorMethod method, int index, ByteBuffer data, DType dtype, long... shape) {
    if (data.isReadOnly()) {
      throw StatorException.invalidArgument("output %d: the buffer is read-only".formatted(index));
    }
    Buffers.check(data, dtype, shape, null);
    try (Scratch sizes = Scratch.of(shape)) {
      hold(method, true, index, data, runtime -> Native.stator_runtime_bind_output(runtime, address(method), index,
          Buffers.address(data), dtype.code, CPU, shape.length, sizes.address, 0));
    }
  }

  /**
   * Binds new memory to an output and gives it: run, then read there. Nothing is copied.
   *
   * @param method of the same module
   * @param index of the output, counted as {@link StatorArena#output} does
   * @param dtype the type of its elements
   * @param shape the sizes
   * @return a direct buffer in native order
   */
  public ByteBuffer output(StatorMethod method, int index, DType dtype, long... shape) {
    ByteBuffer memory = Buffers.allocate(dtype, shape);
    bindOutput(method, index, memory, dtype, shape);
    return memory;
  }

  /** Forgets what is bound to the inputs and outputs of all methods. */
  public void unbind() {
    unbind(0);
  }

  /**
   * Forgets what is bound to the inputs and outputs of a method.
   *
   * @param method of the same module
   */
  public void unbind(StatorMethod method) {
    if (method == null) {
      throw StatorException.invalidArgument("the method is null; unbind() without it is for all methods");
    }
    unbind(address(method));
  }

  private void unbind(long method) {
    long runtime = enter();
    try {
      synchronized (bound) {
        Status.check(Native.stator_runtime_unbind(runtime, method));
        bound.keySet().removeIf(place -> method == 0 || place.method == method);
      }
    } finally {
      exit();
    }
  }

  /**
   * Runs a method once on the inputs bound to it and puts its outputs into an arena.
   *
   * @param method of the same module
   * @param arena an arena of the same module; what it holds is recycled, and refused while it is held
   */
  public void run(StatorMethod method, StatorArena arena) {
    long runtime = enter();
    try {
      long into = enter(arena);
      try {
        Status.check(Native.stator_runtime_run(runtime, address(method), into));
      } finally {
        exit(arena);
      }
    } finally {
      exit();
      Reference.reachabilityFence(this); // it holds the memory that the run reads
    }
  }

  /**
   * Runs a method on values: the general way, for any types. What is bound stays bound and is not read.
   *
   * @param method of the same module
   * @param args positional arguments, as in {@link StatorModule#call}; null for none
   * @param kwargs arguments by name; null for none
   * @param arena holds the tensors of the result: they are to be closed before it is used again
   * @return the result, as in {@link StatorModule#call}
   */
  public Object call(StatorMethod method, List<?> args, Map<String, ?> kwargs, StatorArena arena) {
    return call(this, method, identity, args, kwargs, arena, (runtime, address, positional, named, into) -> out ->
        Native.stator_runtime_call(runtime, address, positional, named, into, out));
  }

  /**
   * Runs a method as {@link #call} does, in a thread of the library's. Wrong arguments are told at once, errors of the run
   * by the future. Until it is done the runtime is in use; runtime and arena may be closed before. Cancelling the future
   * cancels a run that has not begun.
   *
   * @param method of the same module
   * @param args positional arguments, as in {@link StatorModule#call}; null for none
   * @param kwargs arguments by name; null for none
   * @param arena holds the tensors of the result: they are to be closed before it is used again
   * @return the result, as in {@link StatorModule#call}
   */
  public CompletableFuture<Object> callAsync(
      StatorMethod method, List<?> args, Map<String, ?> kwargs, StatorArena arena) {
    try (NativeValue positional = NativeValue.ofNullable(args); NativeValue named = NativeValue.ofNullable(kwargs)) {
      return start(arena, true, List.of(positional.tensors, named.tensors), (runtime, into) -> (queue, tag, out) ->
          Native.stator_runtime_call_async(
              runtime, address(method), positional.address, named.address, into, queue, tag, out));
    }
  }

  /**
   * Runs a method once on the inputs bound to it, as {@link #run} does, in a thread of the library's; all else as in
   * {@link #callAsync}.
   *
   * @param method of the same module
   * @param arena gets the outputs
   * @return done when they are there; its value is null
   */
  public CompletableFuture<Object> runAsync(StatorMethod method, StatorArena arena) {
    return start(arena, false, List.of(), (runtime, into) -> (queue, tag, out) ->
        Native.stator_runtime_run_async(runtime, address(method), into, queue, tag, out));
  }

  private interface AsyncCall {
    RunFuture.Start on(long runtime, long arena);
  }

  /** Runtime and arena are given back when the run has ended, and what it reads stays reachable until then. */
  private CompletableFuture<Object> start(StatorArena arena, boolean wantsResult, Object held, AsyncCall call) {
    long runtime = enter();
    long into;
    try {
      into = enter(arena);
    } catch (RuntimeException e) {
      exit();
      throw e;
    }
    Runnable leave = () -> {
      exit(arena);
      exit();
      Reference.reachabilityFence(held);
      Reference.reachabilityFence(this);
    };
    try {
      return RunFuture.start(call.on(runtime, into), wantsResult, leave);
    } catch (RuntimeException e) {
      leave.run();
      throw e;
    }
  }

  /** What {@link #call} and a pool's have in common. */
  interface Call {
    LongUnaryOperator on(long handle, long method, long args, long kwargs, long arena);
  }

  static Object call(Handle handle, StatorMethod method, Object identity, List<?> args, Map<String, ?> kwargs,
      StatorArena arena, Call call) {
    long entered = handle.enter();
    try {
      long into = enter(arena);
      try (NativeValue positional = NativeValue.ofNullable(args); NativeValue named = NativeValue.ofNullable(kwargs)) {
        try {
          long target = address(method, identity);
          return NativeValue.take(Status.make(call.on(entered, target, positional.address, named.address, into)));
        } finally {
          Reference.reachabilityFence(positional.tensors);
          Reference.reachabilityFence(named.tensors);
        }
      } finally {
        exit(arena);
      }
    } finally {
      handle.exit();
    }
  }

  /**
   * The memory kept between runs for intermediate tensors.
   *
   * @return bytes
   */
  public long workspaceBytes() {
    long runtime = enter();
    try {
      return Native.stator_runtime_workspace_bytes(runtime);
    } finally {
      exit();
    }
  }

  private long address(StatorMethod method) {
    return address(method, identity);
  }

  /** Null is a NULL handle. A method of another module may be gone, so the library must not see it. */
  private static long address(StatorMethod method, Object identity) {
    if (method == null) {
      return 0;
    }
    if (method.identity != identity) {
      throw StatorException.invalidArgument("method \"" + method.name() + "\" is one of another module");
    }
    return method.address;
  }

  /** Binds, and keeps reachable what is bound. */
  private void hold(StatorMethod method, boolean output, int index, Object held, LongUnaryOperator bind) {
    long runtime = enter();
    try {
      synchronized (bound) {
        Status.check(bind.applyAsLong(runtime));
        bound.put(new Place(address(method), output, index), held);
      }
    } finally {
      exit();
    }
  }
}
