package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What takes a process of its own: another LibTorch or none, and fork. */
class ProcessTest extends StatorTest {
  @TempDir Path folder;

  @Test
  void withoutLibTorchLoadingIsRefused() throws Exception {
    String said = child(null, "load", model("add_mul.pt").toString());
    assertTrue(said.startsWith("TORCH_NOT_FOUND"), said);
  }

  @Test
  void anEmptyTorchHomeIsRefusedByName() throws Exception {
    String said = child(folder, "load", model("add_mul.pt").toString());
    assertTrue(said.startsWith("TORCH_NOT_FOUND"), said);
    assertTrue(said.contains(folder.toString()), said);
  }

  @Test
  void aWrongLibTorchIsRefusedWithBothVersions() throws Exception {
    Path lib = Files.createDirectories(folder.resolve("lib"));
    Path source = folder.resolve("torch.c");
    Files.writeString(source, """
        #include <stdint.h>
        uint64_t aoti_torch_abi_version(void) { return UINT64_C(2) << 56 | UINT64_C(10) << 48; }
        """);
    for (String name : List.of("libc10.so", "libtorch_cpu.so")) {
      String file = lib.resolve(name).toString();
      run(new ProcessBuilder("gcc", "-shared", "-fPIC", "-Wl,-soname," + name, "-o", file, source.toString()));
    }
    String said = child(folder, "load", model("add_mul.pt").toString());
    assertTrue(said.startsWith("TORCH_VERSION"), said);
    assertTrue(said.contains("2.10") && said.contains("2.15") && said.contains(lib.toString()), said);
  }

  @Test
  void aChildProcessHasALibraryOfItsOwn() throws Exception {
    load("add_mul.pt").close();
    assertEquals("OK", child(torchHome(), "load", model("add_mul.pt").toString()));
  }

  @Test
  void aForkedChildIsRefused() throws Exception {
    assertEquals("FORKED", child(torchHome(), "fork", model("add_mul.pt").toString()));
  }

  private static Path torchHome() {
    String home = System.getProperty("stator.torch.home", System.getenv("STATOR_TORCH_HOME"));
    return home == null ? null : Path.of(home);
  }

  /** Runs {@link Child} in a JVM of its own; gives the last line that it said. */
  private static String child(Path torchHome, String... args) throws Exception {
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xshare:auto",
        "-cp", System.getProperty("java.class.path")));
    String library = System.getProperty("stator.library.path");
    if (library != null) {
      command.add("-Dstator.library.path=" + library);
    }
    if (torchHome != null) {
      command.add("-Dstator.torch.home=" + torchHome);
    }
    command.add(Child.class.getName());
    command.addAll(List.of(args));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeAll(List.of("STATOR_TORCH_HOME", "LD_LIBRARY_PATH"));
    return run(builder);
  }

  private static String run(ProcessBuilder builder) throws IOException, InterruptedException {
    Process process = builder.redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue(), said);
    return said.substring(said.lastIndexOf('\n') + 1);
  }
}
