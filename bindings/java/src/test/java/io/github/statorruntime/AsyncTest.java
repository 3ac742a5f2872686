package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Forks with any number of threads, and runs in threads of the library's. */
class AsyncTest extends StatorTest {
  /** The thread that waits for runs stays a moment; one of the library's may be about to let go of its last future. */
  @AfterEach
  void settle() throws InterruptedException {
    for (int i = 0; i < 400; i++) {
      if (Stator.liveHandles(Stator.HandleKind.QUEUE) == 0 && Stator.liveHandles(Stator.HandleKind.FUTURE) == 0) {
        return;
      }
      Thread.sleep(5);
    }
  }

  private static StatorTensor matrix() {
    float[] values = new float[16 * 16];
    for (int i = 0; i < values.length; i++) {
      values[i] = (i * 7919 % 101) / 101.0f - 0.5f;
    }
    return StatorTensor.copyOf(values, 16, 16);
  }

  private static float[] first(Object result) {
    float[] values = ((StatorTensor) ((List<?>) result).get(0)).copyFloats();
    Stator.closeAll(result);
    return values;
  }

  @Test
  void forksGiveTheSameWithAnyNumberOfThreads() {
    try (Session s = new Session("forks.pt"); StatorTensor x = matrix()) {
      float[] expected = first(s.runtime.call(s.forward, List.of(x, 3), null, s.arena));
      for (int helpers : new int[] {0, 1, 4}) {
        try (StatorRuntime runtime = s.module.createRuntime(StatorOptions.of("inter_op_threads", helpers))) {
          for (int run = 0; run < 10; run++) {
            assertArrayEquals(expected, first(runtime.call(s.forward, List.of(x, 3), null, s.arena)));
          }
        }
      }
    }
  }

  @Test
  void anAsynchronousCallGivesWhatACallGives() throws Exception {
    try (Session s = new Session("forks.pt"); StatorTensor x = matrix()) {
      float[] expected = first(s.runtime.call(s.forward, List.of(x, 2), null, s.arena));
      for (int run = 0; run < 10; run++) {
        Object result = s.runtime.callAsync(s.forward, List.of(x, 2), null, s.arena).get(1, TimeUnit.MINUTES);
        assertArrayEquals(expected, first(result));
      }
      List<CompletableFuture<Object>> futures = new ArrayList<>();
      List<StatorArena> arenas = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        arenas.add(s.module.createArena());
        try (StatorRuntime runtime = s.module.createRuntime()) { // closed while it runs
          futures.add(runtime.callAsync(s.forward, List.of(x, 2), null, arenas.get(i)));
        }
      }
      for (CompletableFuture<Object> future : futures) {
        assertArrayEquals(expected, first(future.get(1, TimeUnit.MINUTES)));
      }
      arenas.forEach(StatorArena::close);
    }
  }

  @Test
  void anAsynchronousRunReadsWhatIsBound() throws Exception {
    try (Session s = new Session("add_mul.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 3);
      s.runtime.input(s.forward, 1, DType.FLOAT32, 3);
      s.runtime.runAsync(s.forward, s.arena).get(1, TimeUnit.MINUTES);
      assertArrayEquals(new float[] {0.5f, 0.5f, 0.5f}, s.floats(0));
    }
  }

  @Test
  void errorsOfArgumentsComeAtOnceAndThoseOfTheRunWithTheFuture() {
    try (Session s = new Session("forks.pt"); StatorTensor x = matrix()) {
      assertCode(() -> s.runtime.callAsync(s.forward, List.of(x), null, s.arena), StatorException.INPUT_MISSING);
      CompletableFuture<Object> future = s.runtime.callAsync(s.forward, List.of(x, -1), null, s.arena);
      ExecutionException e = assertThrows(ExecutionException.class, () -> future.get(1, TimeUnit.MINUTES));
      assertInstanceOf(StatorModelException.class, e.getCause());
      assertTrue(e.getCause().getMessage().contains("n must not be negative"), e.getCause().getMessage());
      Stator.closeAll(s.runtime.call(s.forward, List.of(x, 1), null, s.arena));
    }
  }

  @Test
  void aCancelledFutureLeavesTheRuntimeUsable() throws Exception {
    try (Session s = new Session("slow.pt"); StatorTensor x = matrix()) {
      CompletableFuture<Object> future = s.runtime.callAsync(s.forward, List.of(x, 2000), null, s.arena);
      if (future.cancel(true)) {
        assertThrows(CancellationException.class, future::join);
      }
      for (int i = 0; ; i++) {
        try {
          Stator.closeAll(s.runtime.call(s.forward, List.of(x, 1), null, s.arena));
          break;
        } catch (StatorBusyException e) {
          assertTrue(i < 2000, "the run never ended");
          Thread.sleep(5);
        }
      }
    }
  }

  @Test
  void aLentRuntimeGoesBackWhenItsRunHasEnded() throws Exception {
    try (StatorModule module = load("slow.pt");
        StatorPool pool = module.createPool(StatorOptions.of("max_runtimes", 1));
        StatorArena arena = module.createArena();
        StatorTensor x = matrix()) {
      CompletableFuture<Object> future;
      try (StatorRuntime runtime = pool.acquire()) {
        future = runtime.callAsync(module.method("forward"), List.of(x, 2000), null, arena);
      }
      Stator.closeAll(future.get(1, TimeUnit.MINUTES));
      pool.acquire().close();
      assertEquals(1, pool.runtimeCount());
    }
  }
}
