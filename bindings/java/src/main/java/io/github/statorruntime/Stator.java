package io.github.statorruntime;

import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;

/** What concerns the library as a whole. */
public final class Stator {
  /** Kinds of handle, for {@link #liveHandles}. */
  public enum HandleKind {
    /** Statuses. */
    STATUS,
    /** Texts that the library made. */
    BYTES,
    /** Options. */
    OPTIONS,
    /** Modules. */
    MODULE,
    /** Runtimes. */
    RUNTIME,
    /** Arenas. */
    ARENA,
    /** Pools. */
    POOL,
    /** Values, tensors included. */
    VALUE,
    /** Outputs that are held outside the library. */
    EXPORT,
    /** Asynchronous runs. */
    FUTURE,
    /** Queues of such. */
    QUEUE
  }

  private static volatile boolean torchAsked;

  private Stator() {}

  /**
   * Loads LibTorch from a folder. Without this call the first one that needs LibTorch loads it: from the folder that
   * the system property {@code stator.torch.home} or the environment variable {@code STATOR_TORCH_HOME} names, else
   * the library searches.
   *
   * @param folder the folder of LibTorch; for a Python wheel, the installed {@code torch} folder
   */
  public static void loadTorch(Path folder) {
    try (Scratch text = Scratch.text(folder.toString())) {
      Status.check(Native.stator_torch_load(text.address));
    }
    torchAsked = true;
  }

  /**
   * Loads a library of operators written for LibTorch (TORCH_LIBRARY); models that call them can be loaded afterwards.
   * It stays loaded.
   *
   * @param library the file
   */
  public static void loadOpLibrary(Path library) {
    needTorch();
    try (Scratch text = Scratch.text(library.toString())) {
      Status.check(Native.stator_op_library_load(text.address));
    }
  }

  /** Passes on where the user says that LibTorch is; called before anything that needs it. */
  static void needTorch() {
    if (torchAsked) {
      return;
    }
    String folder = System.getProperty("stator.torch.home");
    if (folder == null) {
      folder = System.getenv("STATOR_TORCH_HOME");
    }
    if (folder != null && !folder.isEmpty()) {
      loadTorch(Path.of(folder));
    }
    torchAsked = true;
  }

  /**
   * What this build is: versions, the LibTorch in use, the processor's capability.
   *
   * @return JSON
   */
  public static String buildInfo() {
    needTorch();
    return Status.text(Native::stator_build_info);
  }

  /**
   * The metrics of all living modules and pools.
   *
   * @return Prometheus' text format
   */
  public static String prometheusMetrics() {
    needTorch();
    return Status.text(Native::stator_metrics_prometheus);
  }

  /**
   * Hands what models print, LibTorch's warnings and what the library itself has to say to a logger, from a thread of
   * its own. Another call replaces the logger.
   *
   * @param logger where to; null ends logging, once all records so far are handled
   */
  public static void logTo(System.Logger logger) {
    needTorch();
    LogDrain.set(logger);
  }

  /**
   * How many handles of a kind are alive in the process; for tests of leaks.
   *
   * @param kind the kind
   * @return the count
   */
  public static long liveHandles(HandleKind kind) {
    return Native.stator_live_handles(kind.ordinal() + 1);
  }

  /**
   * Closes every tensor and object in a result, so that the arena it came from can be used again.
   *
   * @param result what {@link StatorModule#call} and its kin gave; anything else is let be
   */
  public static void closeAll(Object result) {
    if (result instanceof StatorTensor tensor) {
      tensor.close();
    } else if (result instanceof StatorObject object) {
      object.close();
    } else if (result instanceof Collection<?> items) {
      items.forEach(Stator::closeAll);
    } else if (result instanceof Map<?, ?> pairs) {
      pairs.keySet().forEach(Stator::closeAll);
      pairs.values().forEach(Stator::closeAll);
    }
  }
}
