package io.github.statorruntime;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/**
 * A handle of the library. Each call counts itself in and out: the handle is released when it is closed and no call
 * uses it, by whichever comes last. What nobody closes is closed once it is unreachable.
 */
abstract class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final State state;
  private final Cleaner.Cleanable cleanable;

  Handle(long address, LongConsumer release) {
    state = new State(address, release);
    cleanable = CLEANER.register(this, state);
  }

  /** A handle that lives while `user` is reachable, even if this object is not. */
  Handle(long address, LongConsumer release, Object user) {
    state = new State(address, release);
    cleanable = CLEANER.register(user, state);
  }

  /**
   * Closes this object. Returns at once; if a call is using it in another thread, it is released when that call ends.
   */
  @Override
  public void close() {
    cleanable.clean();
  }

  /**
   * Whether this object was closed.
   *
   * @return true after {@link #close}
   */
  public boolean isClosed() {
    return state.isClosed();
  }

  /** The address, which stays valid until {@link #exit}. */
  final long enter() {
    if (!state.enter()) {
      throw new StatorClosedException(getClass().getSimpleName() + " is closed");
    }
    return state.address;
  }

  final void exit() {
    state.exit();
  }

  /** The same for an argument: null is a NULL handle, which the library refuses with a message of its own. */
  static long enter(Handle handle) {
    return handle == null ? 0 : handle.enter();
  }

  static void exit(Handle handle) {
    if (handle != null) {
      handle.exit();
    }
  }

  /**
   * The number of calls under way, and a bit for closed. It does not refer to the handle's object, or that would never
   * be unreachable.
   */
  private static final class State implements Runnable {
    private static final int CLOSED = 1 << 30;

    final long address;
    private final LongConsumer release;
    private final AtomicInteger uses = new AtomicInteger();

    State(long address, LongConsumer release) {
      this.address = address;
      this.release = release;
    }

    boolean isClosed() {
      return uses.get() >= CLOSED;
    }

    boolean enter() {
      int now;
      do {
        now = uses.get();
        if (now >= CLOSED) {
          return false;
        }
      } while (!uses.compareAndSet(now, now + 1));
      return true;
    }

    void exit() {
      if (uses.decrementAndGet() == CLOSED) {
        release.accept(address);
      }
    }

    /** Closes; the cleaner runs this at most once. */
    @Override
    public void run() {
      if (uses.getAndUpdate(now -> now | CLOSED) == 0) {
        release.accept(address);
      }
    }
  }
}
