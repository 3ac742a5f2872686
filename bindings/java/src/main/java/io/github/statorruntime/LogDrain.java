package io.github.statorruntime;

import java.nio.charset.StandardCharsets;

/** Takes records out of the library's log and hands them to a logger: no call from native code into Java is needed. */
final class LogDrain extends Thread {
  /** How many records are kept while the logger is at work; beyond it the oldest are lost, and counted. */
  private static final long CAPACITY = 10_000;

  private static final System.Logger.Level[] LEVELS = {
    System.Logger.Level.DEBUG, System.Logger.Level.INFO, System.Logger.Level.WARNING, System.Logger.Level.ERROR
  };

  private static LogDrain current;

  private final System.Logger logger;

  private LogDrain(System.Logger logger) {
    super("stator-log");
    this.logger = logger;
    setDaemon(true);
  }

  static synchronized void set(System.Logger logger) {
    if (current != null) {
      Status.check(Native.stator_log_collect(0, 0));
      current.await();
      current = null;
    }
    if (logger != null) {
      Status.check(Native.stator_log_collect(leastLevel(logger), CAPACITY));
      current = new LogDrain(logger);
      current.start();
    }
  }

  private void await() {
    boolean interrupted = false;
    while (isAlive()) {
      try {
        join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void run() {
    try (Scratch out = Scratch.cells(2)) {
      while (true) {
        Status.check(Native.stator_log_next(-1, out.address, out.address + Long.BYTES));
        long bytes = out.getLong(1);
        if (bytes == 0) {
          return;
        }
        int level = (int) out.getLong(0);
        try {
          byte[] text = Scratch.read(Native.stator_bytes_data(bytes), Native.stator_bytes_size(bytes));
          logger.log(LEVELS[Math.min(Math.max(level / 10 - 1, 0), 3)], new String(text, StandardCharsets.UTF_8));
        } finally {
          Native.stator_bytes_release(bytes);
        }
      }
    }
  }

  private static int leastLevel(System.Logger logger) {
    int level = 0;
    while (level < 3 && !logger.isLoggable(LEVELS[level])) {
      level++;
    }
    return 10 * (level + 1);
  }
}
