package io.github.statorruntime;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A model that was loaded and planned. Any number of threads can use it; each runs it through a {@link StatorRuntime}
 * of its own.
 *
 * <pre>{@code
 * try (StatorModule module = StatorModule.load(Path.of("model.pt"));
 *     StatorTensor x = StatorTensor.copyOf(new float[] {1, 2, 3}, 1, 3);
 *     StatorTensor y = (StatorTensor) module.call(x)) {
 *   System.out.println(y.floats().get(0));
 * }
 * }</pre>
 */
public final class StatorModule extends Handle {
  /** Tells apart modules, and refers to none. */
  private final Object identity = new Object();

  /** Where {@link #call} finds its runtimes. It lives no longer than this module. */
  private final AtomicReference<StatorPool> pool;

  private volatile StatorMethod forward;

  private StatorModule(long address, AtomicReference<StatorPool> pool) {
    super(address, module -> {
      StatorPool made = pool.getAndSet(null);
      if (made != null) {
        made.close();
      }
      Native.stator_module_release(module);
    });
    this.pool = pool;
  }

  /**
   * Loads a TorchScript archive ({@code .pt}).
   *
   * @param path the file
   * @return a module
   */
  public static StatorModule load(Path path) {
    return load(path, null);
  }

  /**
   * Loads a TorchScript archive ({@code .pt}).
   *
   * @param path the file
   * @param options null, or {@code weights}, {@code signature}, {@code memory_planner}, {@code plans},
   *     {@code strict}
   * @return a module
   */
  public static StatorModule load(Path path, StatorOptions options) {
    Stator.needTorch();
    try (Scratch text = Scratch.text(path == null ? null : path.toString())) {
      long file = Scratch.address(text);
      return make(Status.make(out -> StatorOptions.pass(options, o -> Native.stator_module_load(file, o, out))));
    }
  }

  /**
   * Loads an archive from memory, which is copied.
   *
   * @param bytes the bytes of the file
   * @param options null, or as in {@link #load(Path, StatorOptions)}
   * @return a module
   */
  public static StatorModule loadBytes(byte[] bytes, StatorOptions options) {
    Stator.needTorch();
    try (Scratch data = Scratch.of(bytes)) {
      return make(Status.make(out -> StatorOptions.pass(options,
          o -> Native.stator_module_load_bytes(data.address, bytes.length, o, out))));
    }
  }

  private static StatorModule make(long address) {
    return new StatorModule(address, new AtomicReference<>());
  }

  /**
   * The methods that the file has.
   *
   * @return all, in the order of the file
   */
  public List<StatorMethod> methods() {
    long module = enter();
    try {
      List<StatorMethod> methods = new ArrayList<>();
      int count = Native.stator_module_method_count(module);
      for (int i = 0; i < count; i++) {
        methods.add(new StatorMethod(Native.stator_module_get_method(module, i), this, identity));
      }
      return methods;
    } finally {
      exit();
    }
  }

  /**
   * A method by its name.
   *
   * @param name "forward", or any exported method
   * @return the method
   */
  public StatorMethod method(String name) {
    long module = enter();
    try (Scratch text = Scratch.text(name)) {
      long method = Status.make(out -> Native.stator_module_find_method(module, Scratch.address(text), out));
      return new StatorMethod(method, this, identity);
    } finally {
      exit();
    }
  }

  /**
   * Writes the module with the plans that it has to a planned file, which loads faster; processes that load it share its pages.
   *
   * @param path the file, replaced if it exists
   */
  public void save(Path path) {
    long module = enter();
    try (Scratch text = Scratch.text(path.toString())) {
      Status.check(Native.stator_module_save(module, Scratch.address(text), 0));
    } finally {
      exit();
    }
  }

  /** Forgets the sizes and signatures of earlier runs, so that one on large inputs does not prepare the next ones for another. */
  public void trim() {
    long module = enter();
    try {
      Status.check(Native.stator_module_trim(module));
    } finally {
      exit();
    }
  }

  /**
   * What the module is: format, methods with inputs and outputs, state, bytes of weights.
   *
   * @return JSON
   */
  public String describe() {
    long module = enter();
    try {
      return Status.text(out -> Native.stator_module_describe(module, out));
    } finally {
      exit();
    }
  }

  /**
   * What the module's runs have come to: runs, failures by code, latencies, bytes, and what the cache of plans did.
   *
   * @return JSON
   */
  public String metrics() {
    long module = enter();
    try {
      return Status.text(out -> Native.stator_module_metrics(module, out));
    } finally {
      exit();
    }
  }

  /**
   * Makes a runtime.
   *
   * @return a runtime with a copy of the module's state of its own
   */
  public StatorRuntime createRuntime() {
    return createRuntime(null);
  }

  /**
   * Makes a runtime.
   *
   * @param options null, or {@code intra_op_threads}, {@code state}
   * @return a runtime
   */
  public StatorRuntime createRuntime(StatorOptions options) {
    long module = enter();
    try {
      return StatorRuntime.make(Status.make(out ->
          StatorOptions.pass(options, o -> Native.stator_runtime_create(module, o, out))), identity);
    } finally {
      exit();
    }
  }

  /**
   * Makes an arena for the outputs of this module's runs.
   *
   * @return an empty arena
   */
  public StatorArena createArena() {
    long module = enter();
    try {
      return new StatorArena(Status.make(out -> Native.stator_arena_create(module, 0, out)));
    } finally {
      exit();
    }
  }

  /**
   * Makes a pool of runtimes.
   *
   * @param options null, or {@code max_runtimes}, {@code intra_op_threads}, {@code state}
   * @return a pool
   */
  public StatorPool createPool(StatorOptions options) {
    long module = enter();
    try {
      return new StatorPool(Status.make(out ->
          StatorOptions.pass(options, o -> Native.stator_pool_create(module, o, out))), identity);
    } finally {
      exit();
    }
  }

  /**
   * Calls {@code forward}, from any thread. The module's state, if it has any, is shared by all such calls.
   *
   * @param args null, Boolean, Long, Double (and the smaller numbers), String, {@link StatorTensor}, List, {@link
   * StatorTuple}, Map,
   *     {@link StatorComplex}, {@link StatorDevice}
   * @return a value of the same types; whoever called closes the tensors in it, all at once by {@link Stator#closeAll}
   */
  public Object call(Object... args) {
    StatorMethod method = forward;
    if (method == null) {
      method = method("forward");
      forward = method;
    }
    return method.call(args);
  }

  Object call(StatorMethod method, Map<String, ?> kwargs, Object... args) {
    enter();
    try (StatorArena arena = createArena()) {
      return pool().call(null, method, Arrays.asList(args), kwargs, arena);
    } finally {
      exit();
    }
  }

  private StatorPool pool() {
    StatorPool made = pool.get();
    if (made == null) {
      synchronized (pool) {
        made = pool.get();
        if (made == null) {
          made = createPool(StatorOptions.of("state", "shared"));
          pool.set(made);
        }
      }
    }
    return made;
  }
}
