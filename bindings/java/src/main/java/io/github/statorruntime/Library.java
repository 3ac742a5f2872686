package io.github.statorruntime;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Finds libstator.so: the folder that the user names, else the jar stator-native, else JNA's and the system's search.
 */
final class Library {
  static final int ABI_MAJOR = 0;
  static final int ABI_MINOR = 1;

  private static final String FILE = "libstator.so";
  private static final int RTLD_NOW = 2; // and RTLD_LOCAL, which is 0

  private Library() {}

  static NativeLibrary open() {
    Map<String, Object> options = Map.of(com.sun.jna.Library.OPTION_OPEN_FLAGS, RTLD_NOW);
    String folder = System.getProperty("stator.library.path");
    if (folder != null) {
      Path file = Path.of(folder).toAbsolutePath().normalize().resolve(FILE);
      if (!Files.exists(file)) {
        throw new UnsatisfiedLinkError(file + " does not exist; it is where the property stator.library.path points");
      }
      return NativeLibrary.getInstance(file.toString(), options);
    }
    Map<String, byte[]> packaged = packaged();
    if (!packaged.isEmpty()) {
      return NativeLibrary.getInstance(unpack(packaged).resolve(FILE).toString(), options);
    }
    return NativeLibrary.getInstance("stator", options);
  }

  static void checkVersion(int found) {
    int major = found >>> 16;
    int minor = found & 0xffff;
    if (major != ABI_MAJOR || minor < ABI_MINOR) {
      String message = "this binding needs interface %d.%d or a later %d.x, but the libstator found has %d.%d";
      throw new UnsatisfiedLinkError(message.formatted(ABI_MAJOR, ABI_MINOR, ABI_MAJOR, major, minor));
    }
  }

  /** The libraries in the jar stator-native by their names; empty if it is not there. */
  private static Map<String, byte[]> packaged() {
    String prefix = "/" + Platform.RESOURCE_PREFIX + "/";
    Map<String, byte[]> files = new LinkedHashMap<>();
    try {
      byte[] list = resource(prefix + "stator.libraries");
      if (list != null) {
        for (String name : new String(list, StandardCharsets.UTF_8).strip().split("\\s+")) {
          files.put(name, resource(prefix + name));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("the jar stator-native could not be read", e);
    }
    return files;
  }

  private static byte[] resource(String name) throws IOException {
    try (InputStream stream = Library.class.getResourceAsStream(name)) {
      return stream == null ? null : stream.readAllBytes();
    }
  }

  /** Puts the libraries side by side into a folder named after their contents, where the next process finds them. */
  private static Path unpack(Map<String, byte[]> files) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      files.values().forEach(digest::update);
      Path folder = cache().resolve(HexFormat.of().formatHex(digest.digest(), 0, 8));
      if (Files.exists(folder)) {
        return folder;
      }
      Path part = Files.createTempDirectory(Files.createDirectories(folder.getParent()), "part");
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        Files.write(part.resolve(file.getKey()), file.getValue());
      }
      try {
        Files.move(part, folder, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException e) { // another process was first
        for (String name : files.keySet()) {
          Files.delete(part.resolve(name));
        }
        Files.delete(part);
        if (!Files.exists(folder)) {
          throw e;
        }
      }
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException("the libraries in the jar stator-native could not be unpacked", e);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** JNA's folder if the user set one (where the usual place does not allow programs), else the user's cache. */
  private static Path cache() {
    String folder = System.getProperty("jna.tmpdir");
    return folder != null
        ? Path.of(folder, "stator")
        : Path.of(System.getProperty("user.home"), ".cache", "stator", "java");
  }
}
