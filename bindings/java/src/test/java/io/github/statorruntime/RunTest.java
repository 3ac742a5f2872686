package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bind once, run many; and the short way. */
class RunTest extends StatorTest {
  @Test
  void windowsAreReadAnewByEachRun() {
    try (Session s = new Session("add_mul.pt")) {
      FloatBuffer x = s.runtime.input(s.forward, 0, DType.FLOAT32, 2, 3).asFloatBuffer();
      FloatBuffer y = s.runtime.input(s.forward, 1, DType.FLOAT32, 2, 3).asFloatBuffer();
      for (int i = 0; i < 5; i++) {
        x.put(0, i);
        y.put(0, 0.5f);
        s.run();
        assertEquals(sigmoid(1.5 * i), s.floats(0)[0], 1e-6);
      }
    }
  }

  @Test
  void operatorLibraryIsLoadedByPath() {
    Path operators = model("../tests/operators");
    StatorException missing =
        assertThrows(StatorException.class, () -> Stator.loadOpLibrary(operators.resolve("nothing.so")));
    assertTrue(missing.getMessage().contains("nothing.so"), missing.getMessage());
    Stator.loadOpLibrary(operators.resolve("liblibrary.so"));
    try (StatorModule module = load("operators_library.pt");
        StatorTensor x = StatorTensor.copyOf(new float[] {1, 2}, 2);
        StatorTensor y = StatorTensor.copyOf(new float[] {3, 4, 5}, 3);
        StatorTensor result = (StatorTensor) module.call(x, y)) {
      assertArrayEquals(new float[] {36, 64, 100, 144, 256, 400}, result.copyFloats());
    }
  }

  @Test
  void boundBuffersAreReadFromTheirPosition() {
    try (Session s = new Session("add_mul.pt")) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(12).order(ByteOrder.nativeOrder());
      buffer.asFloatBuffer().put(new float[] {9, 1, 2});
      buffer.position(4);
      s.runtime.bind(s.forward, 0, buffer, DType.FLOAT32, 2);
      s.runtime.bind(s.forward, 1, buffer.asReadOnlyBuffer().order(ByteOrder.nativeOrder()), DType.FLOAT32, 2);
      s.run();
      assertArrayEquals(new float[] {sigmoid(2), sigmoid(6)}, s.floats(0), 1e-6f);
    }
  }

  @Test
  void boundBuffersStayReachable() {
    try (Session s = new Session("add_mul.pt")) {
      for (int i = 0; i < 2; i++) {
        FloatBuffer x = s.runtime.input(s.forward, i, DType.FLOAT32, 250_000).asFloatBuffer();
        x.put(249_999, 1);
      }
      System.gc();
      ByteBuffer.allocateDirect(2_000_000);
      s.run();
      float[] result = s.floats(0);
      assertEquals(0.5f, result[0]);
      assertEquals(sigmoid(2), result[249_999], 1e-6);
    }
  }

  @Test
  void outputsGoToTheCallersMemory() {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 4).asFloatBuffer().put(0, 1);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 4);
      FloatBuffer result = s.runtime.output(s.forward, 0, DType.FLOAT32, 4).asFloatBuffer();
      s.run();
      assertEquals(sigmoid(1), result.get(0), 1e-6);
      assertEquals(0.5f, result.get(3));
    }
  }

  @Test
  void runAllocatesNothing() {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 8);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 8);
      ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      for (int i = 0; i < 20_000; i++) {
        s.run();
      }
      long thread = Thread.currentThread().getId();
      long before = threads.getThreadAllocatedBytes(thread);
      for (int i = 0; i < 10_000; i++) {
        s.run();
      }
      long bytes = threads.getThreadAllocatedBytes(thread) - before;
      assertTrue(bytes < 10_000, bytes + " bytes in 10,000 runs"); // asking costs some
    }
  }

  @Test
  void outputsOutliveRuntimeArenaAndModule() {
    StatorTensor result;
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 1000).asFloatBuffer().put(999, 3);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 1000);
      s.run();
      result = s.arena.output(0);
    }
    try (result) {
      assertEquals(DType.FLOAT32, result.dtype());
      assertArrayEquals(new long[] {1000}, result.shape());
      assertEquals(sigmoid(3), result.floats().get(999), 1e-6);
    }
  }

  @Test
  void arenaOutlivesRuntimeAndModule() {
    StatorArena arena;
    try (StatorModule module = load("add_mul.pt"); StatorRuntime runtime = module.createRuntime()) {
      StatorMethod forward = module.method("forward");
      runtime.input(forward, 0, DType.FLOAT32, 2);
      runtime.input(forward, 1, DType.FLOAT32, 2);
      arena = module.createArena();
      runtime.run(forward, arena);
    }
    try (arena; StatorTensor result = arena.output(0)) {
      assertEquals(0.5f, result.floats().get(1));
    }
  }

  @Test
  void arenaIsBusyWhileAnOutputIsOpen() {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 2);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 2);
      s.run();
      long generation = s.arena.generation();
      try (StatorTensor held = s.arena.output(0)) {
        assertThrows(StatorBusyException.class, s::run);
        assertThrows(StatorBusyException.class, s.arena::reset);
        assertEquals(generation, s.arena.generation());
        assertEquals(0.5f, held.floats().get(0));
        assertThrows(ReadOnlyBufferException.class, () -> held.floats().put(0, 1));
      }
      s.run();
      assertEquals(1, s.arena.outputCount());
      assertTrue(s.arena.bytes() >= 8);
      s.arena.reset();
      assertEquals(0, s.arena.outputCount());
    }
  }

  @Test
  void forgottenViewsKeepTheMemoryAndThenReleaseIt() throws InterruptedException {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 2);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 2);
      s.run();
      FloatBuffer[] view = {s.arena.output(0).floats()};
      System.gc();
      Thread.sleep(50);
      assertThrows(StatorBusyException.class, s::run);
      assertEquals(0.5f, view[0].get(1));
      view[0] = null;
      for (int i = 0; Stator.liveHandles(Stator.HandleKind.VALUE) > 0; i++) {
        assertTrue(i < 200, "the view was never released");
        System.gc();
        Thread.sleep(20);
      }
      s.run();
    }
  }

  @Test
  void stateBelongsToTheRuntime() {
    try (Session s = new Session("counter.pt"); StatorRuntime other = s.module.createRuntime()) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 3).asFloatBuffer().put(new float[] {1, 2, 3});
      s.run();
      s.run();
      assertArrayEquals(new float[] {2, 4, 6}, s.floats(0));
      try (StatorRuntime copy = s.runtime.copy()) {
        assertEquals(3L, count(s, copy));
      }
      assertEquals(1L, count(s, other));
      assertEquals(3L, count(s, s.runtime));
      s.runtime.run(s.module.method("reset"), s.arena);
      assertEquals(1L, count(s, s.runtime));
      s.runtime.resetState();
      assertEquals(1L, count(s, s.runtime));
      assertTrue(s.runtime.workspaceBytes() >= 0);
    }
  }

  @Test
  void trimGivesMemoryBack() {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 1000);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 1000);
      s.run();
      s.run();
      assertTrue(s.arena.bytes() > 0);
      s.runtime.trim();
      s.arena.trim();
      s.module.trim();
      assertEquals(0, s.runtime.workspaceBytes());
      assertEquals(0, s.arena.bytes());
      s.run();
      assertEquals(1, s.arena.outputCount());
    }
  }

  @Test
  void warmUpMakesThePlanBeforeTheFirstRun() {
    try (Session s = new Session("mlp.pt")) {
      assertThrows(StatorException.class, () -> s.forward.warmUp("x: float32[?, 128]"));
      s.forward.warmUp("x: float32[2, 128]", new StatorOptions().set("intra_op_threads", 1));
      assertTrue(s.forward.plan().contains("float32[2, 128]"));
    }
  }

  @Test
  void savedModulesKeepTheirPlans(@TempDir Path folder) {
    Path file = folder.resolve("mlp.stator");
    try (Session s = new Session("mlp.pt")) {
      s.forward.warmUp("x: float32[2, 128]");
      s.module.save(file);
    }
    try (StatorModule again = StatorModule.load(file)) {
      assertTrue(again.describe().contains("\"restored\": 1"));
    }
  }

  private static Object count(Session s, StatorRuntime runtime) {
    try (StatorTensor one = StatorTensor.copyOf(new float[] {1, 1, 1}, 3)) {
      StatorTuple result = (StatorTuple) runtime.call(s.forward, List.of(one), null, s.arena);
      Stator.closeAll(result);
      return result.get(1);
    }
  }

  @Test
  void modulesAreCalledWithPlainValues() {
    try (StatorModule module = load("kinds.pt"); StatorTensor t = StatorTensor.copyOf(new float[] {1, 2}, 2)) {
      StatorTuple result = (StatorTuple) module.call(t, 3, 0.5, true, "gr\u00fc\u00df\0", null);
      assertArrayEquals(new float[] {0.5f, 1}, ((StatorTensor) result.get(0)).copyFloats());
      assertEquals(4L, result.get(1));
      assertEquals(1.0, result.get(2));
      assertEquals(false, result.get(3));
      assertEquals("gr\u00fc\u00df\0!", result.get(4));
      assertEquals(null, result.get(5));
      Stator.closeAll(result);
    }
  }

  @Test
  void modulesTakeKeywords() {
    try (StatorModule module = load("add_mul.pt");
        StatorTensor one = StatorTensor.copyOf(new float[] {1}, 1);
        StatorTensor two = StatorTensor.copyOf(new float[] {2}, 1);
        StatorTensor result = (StatorTensor) module.method("forward").callWith(Map.of("y", two), one)) {
      assertEquals(sigmoid(3), result.floats().get(0), 1e-6);
    }
  }

  @Test
  void callsShareTheModulesState() {
    try (StatorModule module = load("counter.pt"); StatorTensor x = StatorTensor.copyOf(new float[] {1, 1, 1}, 3)) {
      for (long i = 1; i <= 3; i++) {
        StatorTuple result = (StatorTuple) module.call(x);
        assertEquals(i, result.get(1));
        Stator.closeAll(result);
      }
    }
  }

  @Test
  void modelsAreLoadedFromBytes() throws IOException {
    byte[] bytes = Files.readAllBytes(model("linear.pt"));
    try (StatorModule module = StatorModule.loadBytes(bytes, null);
        StatorTensor x = StatorTensor.copyOf(new float[16], 2, 8);
        StatorTensor y = (StatorTensor) module.call(x)) {
      assertArrayEquals(new long[] {2, 4}, y.shape());
    }
  }

  @Test
  void modulesAndMethodsTellWhatTheyAre() {
    try (StatorModule module = load("writes.pt")) {
      StatorMethod forward = module.method("forward");
      assertEquals(List.of("x"), forward.inputNames());
      assertEquals(List.of("Tensor"), forward.inputTypes());
      assertTrue(forward.inputWritten(0));
      assertFalse(forward.inputWritten(1));
      assertEquals(1, forward.outputCount());
      assertTrue(module.methods().stream().anyMatch(method -> method.name().equals("forward")));
      assertTrue(module.describe().contains("forward"));
      assertFalse(forward.graph().isEmpty());
      assertTrue(forward.plan().contains("aten::"));
    }
    assertTrue(Stator.buildInfo().contains("torch_loaded"));
  }

  @Test
  void modelsWriteTheCallersMemory() {
    try (Session s = new Session("writes.pt")) {
      ByteBuffer x = s.runtime.input(s.forward, 0, DType.FLOAT32, 2);
      s.run();
      assertEquals(1f, x.asFloatBuffer().get(1));
      ByteBuffer readOnly = x.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
      assertCode(() -> s.runtime.bind(s.forward, 0, readOnly, DType.FLOAT32, 2), StatorException.INVALID_ARGUMENT);
    }
  }

  @Test
  void stridedTensorsAreCopiedInRowMajorOrder() {
    ByteBuffer memory = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder());
    memory.asFloatBuffer().put(new float[] {1, 2, 3, 4, 5, 6});
    try (StatorTensor t = StatorTensor.wrap(memory, DType.FLOAT32, new long[] {3, 2}, new long[] {1, 3})) {
      assertFalse(t.isContiguous());
      assertArrayEquals(new float[] {1, 4, 2, 5, 3, 6}, t.copyFloats());
      assertCode(t::floats, StatorException.UNSUPPORTED);
      assertCode(t::copyLongs, StatorException.INVALID_ARGUMENT);
    }
  }
}
