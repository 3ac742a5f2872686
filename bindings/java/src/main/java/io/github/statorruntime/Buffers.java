package io.github.statorruntime;

import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory outside the heap that tensors lie in. */
final class Buffers {
  private static final int ALIGNMENT = 64;

  private Buffers() {}

  /** The address of the first remaining byte of a direct buffer. */
  static long address(ByteBuffer buffer) {
    return Pointer.nativeValue(com.sun.jna.Native.getDirectBufferPointer(buffer)) + buffer.position();
  }

  /** Refuses a buffer that cannot hold the tensor. */
  static void check(ByteBuffer buffer, DType dtype, long[] shape, long[] strides) {
    if (!buffer.isDirect()) {
      throw StatorException.invalidArgument(
          "the buffer is on the heap; use one of ByteBuffer.allocateDirect(), or StatorTensor.copyOf()");
    }
    if (dtype.bytes() > 1 && buffer.order() != ByteOrder.nativeOrder()) {
      throw StatorException.invalidArgument(
          "the buffer is %s; call order(ByteOrder.nativeOrder()) before it is filled".formatted(buffer.order()));
    }
    long needed = extent(dtype, shape, strides);
    if (buffer.remaining() < needed) {
      throw StatorException.invalidArgument(
          "the tensor needs %d bytes, but the buffer has %d".formatted(needed, buffer.remaining()));
    }
  }

  /** Zeroed memory for a contiguous tensor. */
  static ByteBuffer allocate(DType dtype, long... shape) {
    long bytes = extent(dtype, shape, null);
    if (bytes > Integer.MAX_VALUE - 2 * ALIGNMENT) {
      throw StatorException.unsupported(
          "a buffer of Java's holds at most 2 GiB, but the tensor has " + bytes + " bytes");
    }
    int size = (int) bytes;
    ByteBuffer memory = ByteBuffer.allocateDirect(size + 2 * ALIGNMENT).alignedSlice(ALIGNMENT);
    return memory.slice(0, size).order(ByteOrder.nativeOrder());
  }

  /**
   * The bytes from the first element to the end of the last; negative sizes and strides are left to the library to
   * refuse.
   */
  static long extent(DType dtype, long[] shape, long[] strides) {
    if (strides != null && strides.length != shape.length) {
      throw StatorException.invalidArgument("%d sizes but %d strides".formatted(shape.length, strides.length));
    }
    try {
      long last = 0; // the place of the last element
      long step = 1;
      for (int i = shape.length - 1; i >= 0; i--) {
        if (shape[i] <= 0) {
          return 0;
        }
        last = Math.addExact(last, Math.multiplyExact(shape[i] - 1, strides == null ? step : strides[i]));
        step = strides == null ? Math.multiplyExact(step, shape[i]) : step;
      }
      return Math.multiplyExact(last + 1, (long) dtype.bytes());
    } catch (ArithmeticException e) {
      throw StatorException.invalidArgument("the tensor's size is more than 64 bits hold");
    }
  }
}
