package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Many threads at once. */
class ThreadsTest extends StatorTest {
  private static final int THREADS = 8;

  /** Starts a run that goes on for a while. */
  private static Thread startSlow(Session slow, AtomicReference<Throwable> error) throws InterruptedException {
    bindSlow(slow, 3000);
    Thread thread = new Thread(() -> {
      try {
        slow.run();
      } catch (Throwable e) {
        error.set(e);
      }
    });
    thread.start();
    Thread.sleep(30);
    return thread;
  }

  @Test
  void aSecondThreadOnARuntimeIsTurnedAway() throws InterruptedException {
    AtomicReference<Throwable> error = new AtomicReference<>();
    try (Session slow = new Session("slow.pt"); StatorArena other = slow.module.createArena()) {
      Thread thread = startSlow(slow, error);
      assertTrue(thread.isAlive(), "the run ended too soon for this test");
      assertThrows(StatorBusyException.class, () -> slow.runtime.run(slow.forward, other));
      assertThrows(StatorBusyException.class, () -> slow.runtime.bindValue(slow.forward, 1, 1));
      assertThrows(StatorBusyException.class, () -> slow.arena.output(0));
      thread.join();
      assertNull(error.get());
      assertEquals(1, slow.arena.outputCount());
    }
  }

  @Test
  void closingWhileAnotherThreadRunsReturnsAtOnce() throws InterruptedException {
    AtomicReference<Throwable> error = new AtomicReference<>();
    long runtimes = Stator.liveHandles(Stator.HandleKind.RUNTIME);
    Session slow = new Session("slow.pt");
    Thread thread = startSlow(slow, error);
    slow.close();
    assertTrue(thread.isAlive(), "close waited for the run");
    assertEquals(runtimes + 1, Stator.liveHandles(Stator.HandleKind.RUNTIME));
    assertThrows(StatorClosedException.class, slow::run);
    thread.join();
    assertNull(error.get());
  }

  @Test
  void aModuleServesManyThreads() throws InterruptedException {
    try (StatorModule module = load("add_mul.pt")) {
      StatorMethod forward = module.method("forward");
      inThreads(id -> {
        try (StatorRuntime runtime = module.createRuntime(); StatorArena arena = module.createArena()) {
          runMany(id, forward, runtime, arena);
        }
      });
    }
  }

  @Test
  void aPoolServesManyThreads() throws InterruptedException {
    try (StatorModule module = load("add_mul.pt");
        StatorPool pool = module.createPool(StatorOptions.of("max_runtimes", 4))) {
      StatorMethod forward = module.method("forward");
      inThreads(id -> {
        for (int i = 0; i < 20; i++) {
          try (StatorRuntime runtime = pool.acquire(); StatorArena arena = module.createArena()) {
            runMany(id, forward, runtime, arena);
          }
        }
      });
      assertTrue(pool.runtimeCount() <= 4);
    }
  }

  @Test
  void callsComeFromManyThreads() throws InterruptedException {
    try (StatorModule module = load("add_mul.pt")) {
      inThreads(id -> {
        for (int i = 0; i < 100; i++) {
          try (StatorTensor x = StatorTensor.copyOf(new float[] {id}, 1);
              StatorTensor y = (StatorTensor) module.call(x, x)) {
            assertEquals(sigmoid(id * id + id), y.floats().get(0), 1e-6);
          }
        }
      });
    }
  }

  @Test
  void aPoolLendsUpToItsLimitAndOutlivesItsClosing() {
    try (StatorModule module = load("add_mul.pt"); StatorArena arena = module.createArena()) {
      StatorPool pool = module.createPool(StatorOptions.of("max_runtimes", 1));
      StatorMethod forward = module.method("forward");
      StatorRuntime first = pool.acquire();
      StatorException e = assertThrows(StatorBusyException.class, () -> pool.acquire(Duration.ZERO));
      assertEquals(StatorException.BUSY, e.code());
      e = assertThrows(StatorBusyException.class, () -> pool.acquire(Duration.ofMillis(20)));
      assertEquals(StatorException.TIMEOUT, e.code());
      runMany(1, forward, first, arena);
      first.close();
      try (StatorRuntime again = pool.acquire(Duration.ZERO)) {
        assertCode(() -> again.run(forward, arena), StatorException.INPUT_MISSING);
        pool.close();
        runMany(2, forward, again, arena);
      }
    }
  }

  private static void runMany(int id, StatorMethod forward, StatorRuntime runtime, StatorArena arena) {
    FloatBuffer x = runtime.input(forward, 0, DType.FLOAT32, 16).asFloatBuffer();
    runtime.input(forward, 1, DType.FLOAT32, 16).asFloatBuffer().put(0, id);
    for (int i = 0; i < 50; i++) {
      x.put(0, i * 0.01f);
      runtime.run(forward, arena);
      try (StatorTensor result = arena.output(0)) {
        assertEquals(sigmoid(i * 0.01 * id + i * 0.01), result.floats().get(0), 1e-6);
      }
    }
  }

  private interface Body {
    void run(int id);
  }

  private static void inThreads(Body body) throws InterruptedException {
    AtomicReference<Throwable> error = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int id = i;
      Thread thread = new Thread(() -> {
        try {
          body.run(id);
        } catch (Throwable e) {
          error.set(e);
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (error.get() != null) {
      throw new AssertionError(error.get());
    }
  }
}
