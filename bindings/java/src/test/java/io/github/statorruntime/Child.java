package io.github.statorruntime;

import java.nio.file.Path;

/** What {@link ProcessTest} runs in a JVM of its own: says what came of it on the last line. */
final class Child {
  private static final long PATIENCE_MS = 30_000;
  private static final int WNOHANG = 1;
  private static final int SIGKILL = 9;

  /** The C library. */
  static final class Posix {
    static {
      com.sun.jna.Native.register(Posix.class, "c");
    }

    private Posix() {}

    static native int fork();

    static native void _exit(int code);

    static native int waitpid(int pid, long status, int options);

    static native int kill(int pid, int signal);
  }

  private Child() {}

  public static void main(String[] args) throws InterruptedException {
    try {
      Path path = Path.of(args[1]);
      StatorModule.load(path).close();
      System.out.println(args[0].equals("fork") ? forked(path) : "OK");
    } catch (StatorException e) {
      System.out.println(e.codeName() + " " + e.getMessage().replace('\n', ' '));
    }
  }

  /**
   * The name of the code that loading gives in a forked child, which does nothing but that: it has no other thread of
   * the JVM.
   */
  private static String forked(Path path) throws InterruptedException {
    try (Scratch text = Scratch.text(path.toString());
        Scratch out = Scratch.cells(1);
        Scratch status = Scratch.cells(1)) {
      loadedCode(text.address, out); // resolves all that the child calls
      int pid = Posix.fork();
      if (pid == 0) {
        Posix._exit(loadedCode(text.address, out));
      }
      long end = System.currentTimeMillis() + PATIENCE_MS;
      while (Posix.waitpid(pid, status.address, WNOHANG) == 0) {
        if (System.currentTimeMillis() > end) {
          Posix.kill(pid, SIGKILL);
          Posix.waitpid(pid, status.address, 0);
          return "the forked child hung";
        }
        Thread.sleep(10);
      }
      int ended = status.getInt(0);
      if ((ended & 0x7f) != 0) {
        return "the forked child died of signal " + (ended & 0x7f);
      }
      return Scratch.read(Native.stator_status_name(ended >> 8 & 0xff));
    }
  }

  private static int loadedCode(long path, Scratch out) {
    long status = Native.stator_module_load(path, 0, out.address);
    int code = Native.stator_status_code(status);
    Native.stator_status_release(status);
    if (code == 0) {
      Native.stator_module_release(out.getLong(0));
    }
    return code;
  }
}
