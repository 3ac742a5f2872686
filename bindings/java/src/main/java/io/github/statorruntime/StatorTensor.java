package io.github.statorruntime;

import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import java.util.function.Function;

/**
 * A tensor: an output of a run, or an argument for one.
 *
 * <p>{@link #floats} and its kin are views: they read the tensor's own memory. An output keeps its arena busy until
 * it is closed. Views that are still reachable keep the memory alive if nobody closes the tensor; after {@link
 * #close} they must not be used. The {@code copy} methods give arrays that are the caller's for good.
 *
 * <pre>{@code
 * try (StatorTensor scores = arena.output(0)) {
 *   FloatBuffer view = scores.floats();
 *   float best = view.get(0);
 * }
 * }</pre>
 */
public final class StatorTensor extends Handle {
  /** Where the deleter lies in a DLManagedTensorVersioned. */
  private static final int DLPACK_DELETER = 16;

  private final DType dtype;
  private final long[] shape;
  private final long[] strides;

  /**
   * All bytes of the tensor. Views refer to this buffer, and it to nothing: what it lies in lives while it is
   * reachable.
   */
  private final ByteBuffer memory;

  private final long bytes;

  private StatorTensor(long value, ByteBuffer memory, DType dtype, long[] shape, long[] strides) {
    super(value, Native::stator_value_release, memory);
    this.memory = memory;
    this.dtype = dtype;
    this.shape = shape;
    this.strides = strides;
    this.bytes = Buffers.extent(dtype, shape, strides);
  }

  /**
   * A tensor over memory of the caller's, from the buffer's position on, without a copy. What is written there later,
   * the tensor shows.
   *
   * @param data a direct buffer in native order, not read-only
   * @param dtype the type of its elements
   * @param shape the sizes
   * @return a tensor
   */
  public static StatorTensor wrap(ByteBuffer data, DType dtype, long... shape) {
    return wrap(data, dtype, shape, null);
  }

  /**
   * A tensor with strides over memory of the caller's.
   *
   * @param data a direct buffer in native order, not read-only
   * @param dtype the type of its elements
   * @param shape the sizes
   * @param strides the strides in elements, one per size; null means contiguous
   * @return a tensor
   */
  public static StatorTensor wrap(ByteBuffer data, DType dtype, long[] shape, long[] strides) {
    if (data.isReadOnly()) {
      throw StatorException.invalidArgument("the buffer is read-only; bind() takes it where the model does not write");
    }
    Buffers.check(data, dtype, shape, strides);
    Stator.needTorch();
    ByteBuffer memory = data.slice().order(ByteOrder.nativeOrder());
    try (Scratch sizes = Scratch.of(shape); Scratch places = strides == null ? null : Scratch.of(strides)) {
      long value = Status.make(out -> Native.stator_value_create_tensor_shared(Buffers.address(memory), dtype.code,
          StatorRuntime.CPU, shape.length, sizes.address, Scratch.address(places), 0, 0, out));
      long[] steps = strides == null ? contiguous(shape) : strides.clone();
      return new StatorTensor(value, memory, dtype, shape.clone(), steps);
    }
  }

  /**
   * A float32 tensor with a copy of an array.
   *
   * @param data the elements, in row-major order
   * @param shape the sizes
   * @return a tensor
   */
  public static StatorTensor copyOf(float[] data, long... shape) {
    ByteBuffer memory = allocate(data.length, DType.FLOAT32, shape);
    memory.asFloatBuffer().put(data);
    return wrap(memory, DType.FLOAT32, shape);
  }

  /**
   * A float64 tensor with a copy of an array.
   *
   * @param data the elements, in row-major order
   * @param shape the sizes
   * @return a tensor
   */
  public static StatorTensor copyOf(double[] data, long... shape) {
    ByteBuffer memory = allocate(data.length, DType.FLOAT64, shape);
    memory.asDoubleBuffer().put(data);
    return wrap(memory, DType.FLOAT64, shape);
  }

  /**
   * An int64 tensor with a copy of an array.
   *
   * @param data the elements, in row-major order
   * @param shape the sizes
   * @return a tensor
   */
  public static StatorTensor copyOf(long[] data, long... shape) {
    ByteBuffer memory = allocate(data.length, DType.INT64, shape);
    memory.asLongBuffer().put(data);
    return wrap(memory, DType.INT64, shape);
  }

  /**
   * An int32 tensor with a copy of an array.
   *
   * @param data the elements, in row-major order
   * @param shape the sizes
   * @return a tensor
   */
  public static StatorTensor copyOf(int[] data, long... shape) {
    ByteBuffer memory = allocate(data.length, DType.INT32, shape);
    memory.asIntBuffer().put(data);
    return wrap(memory, DType.INT32, shape);
  }

  private static ByteBuffer allocate(long given, DType dtype, long[] shape) {
    ByteBuffer memory = Buffers.allocate(dtype, shape);
    if (memory.capacity() != given * dtype.bytes()) {
      throw StatorException.invalidArgument(
          "shape %s has %d elements, but %d are given"
              .formatted(Arrays.toString(shape), memory.capacity() / dtype.bytes(), given));
    }
    return memory;
  }

  /** The tensor of a value that this call takes over. */
  static StatorTensor take(long value) {
    try (Scratch out = Scratch.cells(6)) {
      Status.check(Native.stator_value_as_tensor(
          value, out.at(0), out.at(1), out.at(2), out.at(3), out.at(4), out.at(5)));
      DType dtype = DType.of(out.getInt(1));
      long[] shape = Scratch.readLongs(out.getLong(4), out.getInt(3));
      long[] strides = Scratch.readLongs(out.getLong(5), out.getInt(3));
      long extent = Buffers.extent(dtype, shape, strides);
      boolean fits = extent > 0 && extent <= Integer.MAX_VALUE;
      ByteBuffer memory = fits ? new Pointer(out.getLong(0)).getByteBuffer(0, extent) : ByteBuffer.allocateDirect(0);
      return new StatorTensor(value, memory, dtype, shape, strides);
    } catch (Throwable e) {
      Native.stator_value_release(value);
      throw e;
    }
  }

  /** The tensor of a DLPack export that this call takes over. */
  static StatorTensor takeExport(long export) {
    long value;
    try {
      value = Status.make(out -> Native.stator_value_from_dlpack(export, out));
    } catch (Throwable e) {
      Pointer deleter = new Pointer(export).getPointer(DLPACK_DELETER);
      com.sun.jna.Function.getFunction(deleter).invokeVoid(new Object[] {export});
      throw e;
    }
    return take(value);
  }

  /**
   * The type of the elements.
   *
   * @return the dtype
   */
  public DType dtype() {
    return dtype;
  }

  /**
   * The sizes.
   *
   * @return a copy of them, one per dimension
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * The strides in elements.
   *
   * @return a copy of them, one per dimension
   */
  public long[] strides() {
    return strides.clone();
  }

  /**
   * The number of elements.
   *
   * @return the product of the sizes
   */
  public long elementCount() {
    return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
  }

  /**
   * Whether the elements lie one after the other in row-major order.
   *
   * @return true if views can be had
   */
  public boolean isContiguous() {
    long[] expected = contiguous(shape);
    for (int i = 0; i < shape.length; i++) {
      if (shape[i] != 1 && strides[i] != expected[i] && bytes > 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * A view of the elements' bytes, for any dtype.
   *
   * @return a read-only direct buffer in native order
   */
  public ByteBuffer bytes() {
    if (isClosed()) {
      throw new StatorClosedException("StatorTensor is closed");
    }
    if (!isContiguous()) {
      throw StatorException.unsupported(
          "a tensor of shape %s with strides %s has no view; use a copy"
              .formatted(Arrays.toString(shape), Arrays.toString(strides)));
    }
    checkSize();
    return memory.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  /**
   * A view of a float32 tensor.
   *
   * @return a read-only buffer
   */
  public FloatBuffer floats() {
    return view(DType.FLOAT32).asFloatBuffer();
  }

  /**
   * A view of a float64 tensor.
   *
   * @return a read-only buffer
   */
  public DoubleBuffer doubles() {
    return view(DType.FLOAT64).asDoubleBuffer();
  }

  /**
   * A view of an int64 tensor.
   *
   * @return a read-only buffer
   */
  public LongBuffer longs() {
    return view(DType.INT64).asLongBuffer();
  }

  /**
   * A view of an int32 tensor.
   *
   * @return a read-only buffer
   */
  public IntBuffer ints() {
    return view(DType.INT32).asIntBuffer();
  }

  /**
   * A view of the bits of a tensor whose elements have two bytes: int16, float16, bfloat16.
   *
   * @return a read-only buffer
   */
  public ShortBuffer shorts() {
    if (dtype.bytes() != Short.BYTES) {
      throw StatorException.invalidArgument("the tensor's dtype is " + dtype + ", which does not have two bytes");
    }
    return bytes().asShortBuffer();
  }

  private ByteBuffer view(DType wanted) {
    expect(wanted);
    return bytes();
  }

  /**
   * Copies a float32 tensor.
   *
   * @return the elements, in row-major order
   */
  public float[] copyFloats() {
    expect(DType.FLOAT32);
    return copy(elements -> {
      float[] copy = new float[elements.remaining() / Float.BYTES];
      elements.asFloatBuffer().get(copy);
      return copy;
    });
  }

  /**
   * Copies a float64 tensor.
   *
   * @return the elements, in row-major order
   */
  public double[] copyDoubles() {
    expect(DType.FLOAT64);
    return copy(elements -> {
      double[] copy = new double[elements.remaining() / Double.BYTES];
      elements.asDoubleBuffer().get(copy);
      return copy;
    });
  }

  /**
   * Copies an int64 tensor.
   *
   * @return the elements, in row-major order
   */
  public long[] copyLongs() {
    expect(DType.INT64);
    return copy(elements -> {
      long[] copy = new long[elements.remaining() / Long.BYTES];
      elements.asLongBuffer().get(copy);
      return copy;
    });
  }

  /**
   * Copies an int32 tensor.
   *
   * @return the elements, in row-major order
   */
  public int[] copyInts() {
    expect(DType.INT32);
    return copy(elements -> {
      int[] copy = new int[elements.remaining() / Integer.BYTES];
      elements.asIntBuffer().get(copy);
      return copy;
    });
  }

  /**
   * Copies the bytes of the elements, for any dtype.
   *
   * @return the elements in native order, in row-major order
   */
  public byte[] copyBytes() {
    return copy(elements -> {
      byte[] copy = new byte[elements.remaining()];
      elements.get(copy);
      return copy;
    });
  }

  @Override
  public String toString() {
    return dtype + Arrays.toString(shape);
  }

  private void expect(DType wanted) {
    if (dtype != wanted) {
      throw StatorException.invalidArgument("the tensor's dtype is " + dtype + ", not " + wanted);
    }
  }

  private void checkSize() {
    if (bytes > Integer.MAX_VALUE) {
      throw StatorException.unsupported(
          "a buffer of Java's holds at most 2 GiB, but the tensor has " + bytes + " bytes");
    }
  }

  /** Hands over the elements one after the other. */
  private <T> T copy(Function<ByteBuffer, T> reader) {
    enter();
    try {
      checkSize();
      if (isContiguous()) {
        return reader.apply(memory.duplicate().order(ByteOrder.nativeOrder()));
      }
      int size = Math.toIntExact(elementCount() * dtype.bytes());
      ByteBuffer elements = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
      gather(0, 0, elements);
      return reader.apply(elements.flip());
    } finally {
      exit();
    }
  }

  private void gather(int dimension, long place, ByteBuffer copy) {
    if (dimension == shape.length) {
      int size = dtype.bytes();
      copy.put(copy.position(), memory, (int) (place * size), size);
      copy.position(copy.position() + size);
      return;
    }
    for (long i = 0; i < shape[dimension]; i++) {
      gather(dimension + 1, place + i * strides[dimension], copy);
    }
  }

  private static long[] contiguous(long[] shape) {
    long[] strides = new long[shape.length];
    long step = 1;
    for (int i = shape.length - 1; i >= 0; i--) {
      strides[i] = step;
      step *= Math.max(shape[i], 1);
    }
    return strides;
  }
}
