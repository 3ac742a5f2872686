package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;

/** What the tests share. After each, as many handles are alive as before. */
abstract class StatorTest {
  private Map<Stator.HandleKind, Long> before;

  @BeforeEach
  void countHandles() {
    before = handles();
  }

  @AfterEach
  void nothingLeaked() {
    assertEquals(before, handles());
  }

  static Map<Stator.HandleKind, Long> handles() {
    Map<Stator.HandleKind, Long> counts = new EnumMap<>(Stator.HandleKind.class);
    for (Stator.HandleKind kind : Stator.HandleKind.values()) {
      counts.put(kind, Stator.liveHandles(kind));
    }
    return counts;
  }

  static Path model(String name) {
    String folder = System.getenv("STATOR_TEST_MODELS");
    if (folder == null) {
      throw new IllegalStateException(
          "the environment variable STATOR_TEST_MODELS must name the folder of the test models");
    }
    return Path.of(folder).resolve(name);
  }

  static StatorModule load(String name) {
    return StatorModule.load(model(name));
  }

  static StatorException assertCode(Executable action, Integer... codes) {
    StatorException e = assertThrows(StatorException.class, action);
    assertTrue(Arrays.asList(codes).contains(e.code()), e.codeName() + ": " + e.getMessage());
    return e;
  }

  /** One module with what it takes to run it. */
  static final class Session implements AutoCloseable {
    final StatorModule module;
    final StatorMethod forward;
    final StatorRuntime runtime;
    final StatorArena arena;

    Session(String name) {
      module = load(name);
      forward = module.method("forward");
      runtime = module.createRuntime();
      arena = module.createArena();
    }

    void run() {
      runtime.run(forward, arena);
    }

    float[] floats(int output) {
      try (StatorTensor tensor = arena.output(output)) {
        return tensor.copyFloats();
      }
    }

    @Override
    public void close() {
      arena.close();
      runtime.close();
      module.close();
    }
  }

  /** A run that takes long enough to do something else meanwhile. */
  static void bindSlow(Session slow, long steps) {
    slow.runtime.input(slow.forward, 0, DType.FLOAT32, 128, 128);
    slow.runtime.bindValue(slow.forward, 1, steps);
  }

  static float sigmoid(double x) {
    return (float) (1 / (1 + Math.exp(-x)));
  }
}
