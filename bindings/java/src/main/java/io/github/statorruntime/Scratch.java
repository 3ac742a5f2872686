package io.github.statorruntime;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/** A little memory outside the heap, for out parameters, shapes and texts of one call. */
final class Scratch implements AutoCloseable {
  final long address;
  private final Pointer memory;

  private Scratch(long bytes) {
    address = com.sun.jna.Native.malloc(Math.max(bytes, Long.BYTES));
    if (address == 0) {
      throw new OutOfMemoryError("no memory for " + bytes + " bytes outside the heap");
    }
    memory = new Pointer(address);
  }

  /** Room for some pointers or numbers of 64 bits, all 0. */
  static Scratch cells(int count) {
    Scratch scratch = new Scratch((long) count * Long.BYTES);
    scratch.memory.clear((long) count * Long.BYTES);
    return scratch;
  }

  static Scratch of(long... values) {
    Scratch scratch = new Scratch((long) values.length * Long.BYTES);
    scratch.memory.write(0, values, 0, values.length);
    return scratch;
  }

  static Scratch of(byte[] bytes) {
    Scratch scratch = new Scratch(bytes.length);
    scratch.memory.write(0, bytes, 0, bytes.length);
    return scratch;
  }

  /** A text that ends in NUL; null gives null, which {@link #address(Scratch)} makes a NULL pointer. */
  static Scratch text(String text) {
    if (text == null) {
      return null;
    }
    if (text.indexOf('\0') >= 0) {
      throw StatorException.invalidArgument("a path, key or name must not hold the character NUL");
    }
    return of((text + '\0').getBytes(StandardCharsets.UTF_8));
  }

  static long address(Scratch scratch) {
    return scratch == null ? 0 : scratch.address;
  }

  long at(int cell) {
    return address + (long) cell * Long.BYTES;
  }

  long getLong(int cell) {
    return memory.getLong((long) cell * Long.BYTES);
  }

  int getInt(int cell) {
    return memory.getInt((long) cell * Long.BYTES);
  }

  double getDouble(int cell) {
    return memory.getDouble((long) cell * Long.BYTES);
  }

  void set(int cell, long value) {
    memory.setLong((long) cell * Long.BYTES, value);
  }

  @Override
  public void close() {
    com.sun.jna.Native.free(address);
  }

  /** The text at an address that a call returned; null for NULL. */
  static String read(long address) {
    return address == 0 ? null : new Pointer(address).getString(0, "UTF-8");
  }

  static byte[] read(long address, long size) {
    return address == 0 || size == 0 ? new byte[0] : new Pointer(address).getByteArray(0, Math.toIntExact(size));
  }

  static long[] readLongs(long address, int count) {
    return count == 0 ? new long[0] : new Pointer(address).getLongArray(0, count);
  }
}
