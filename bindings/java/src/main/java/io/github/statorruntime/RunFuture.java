package io.github.statorruntime;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A run in a thread of the library's. What completes it learns so from a queue of the library's. */
final class RunFuture extends CompletableFuture<Object> {
  private static final Endings ENDINGS = new Endings();

  private final boolean wantsResult;

  /** Gives back what the run used; it also keeps reachable what the run reads. */
  private final Runnable leave;

  /** Of the library's future, until the run has ended. */
  private long address;

  private RunFuture(boolean wantsResult, Runnable leave) {
    this.wantsResult = wantsResult;
    this.leave = leave;
  }

  /** A function of the library that starts a run. */
  interface Start {
    long into(long queue, long tag, long out);
  }

  static CompletableFuture<Object> start(Start start, boolean wantsResult, Runnable leave) {
    RunFuture future = new RunFuture(wantsResult, leave);
    ENDINGS.expect(future, start);
    return future;
  }

  /** A run that has not begun does not run; one that has goes on, and what it gives is dropped. */
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    synchronized (this) {
      if (address != 0) {
        Native.stator_future_cancel(address);
      }
    }
    return super.cancel(mayInterruptIfRunning);
  }

  private synchronized void set(long future) {
    Native.stator_future_release(address);
    address = future;
  }

  private void end(long done) {
    set(0);
    Object result = null;
    RuntimeException error = null;
    try {
      long value = Status.make(out -> Native.stator_future_result(done, out));
      if (wantsResult) {
        result = NativeValue.take(value);
      } else {
        Native.stator_value_release(value);
      }
    } catch (RuntimeException e) {
      error = e;
    }
    Native.stator_future_release(done); // it holds the arena's results
    leave.run();
    tell(result, error);
  }

  /** In another thread, because whoever is told may take long. */
  private void tell(Object result, RuntimeException error) {
    defaultExecutor().execute(() -> {
      if (error != null) {
        completeExceptionally(error);
      } else if (!complete(result)) {
        Stator.closeAll(result);
      }
    });
  }

  /** All runs under way; while there are any, a thread waits for them. */
  private static final class Endings {
    /** How long the thread stays when nothing is under way. */
    private static final long LINGER_NANOS = 50_000_000;

    private final Map<Long, RunFuture> waiting = new HashMap<>();
    private long queue;
    private long tags;

    synchronized void expect(RunFuture future, Start start) {
      if (queue == 0) {
        queue = Status.make(Native::stator_queue_create);
        long serving = queue;
        Thread thread = new Thread(() -> serve(serving), "stator-futures");
        thread.setDaemon(true);
        thread.start();
      }
      long tag = ++tags;
      future.set(Status.make(out -> start.into(queue, tag, out)));
      waiting.put(tag, future);
    }

    private void serve(long serving) {
      try (Scratch out = Scratch.cells(1)) {
        while (true) {
          long status = Native.stator_queue_next(serving, LINGER_NANOS, out.address);
          if (status == 0) {
            long done = out.getLong(0);
            take(Native.stator_future_tag(done)).end(done);
          } else {
            Native.stator_status_release(status);
            if (idle()) {
              break;
            }
          }
        }
      }
      Native.stator_queue_release(serving);
    }

    private synchronized RunFuture take(long tag) {
      return waiting.remove(tag);
    }

    /** Gives the queue up if nothing is under way. */
    private synchronized boolean idle() {
      if (!waiting.isEmpty()) {
        return false;
      }
      queue = 0;
      return true;
    }
  }
}
