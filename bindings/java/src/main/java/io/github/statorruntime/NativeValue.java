package io.github.statorruntime;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** Java values as the library's, and back. */
final class NativeValue implements AutoCloseable {
  private static final int NONE = 0;
  private static final int BOOL = 1;
  private static final int INT = 2;
  private static final int FLOAT = 3;
  private static final int COMPLEX = 4;
  private static final int STR = 5;
  private static final int TENSOR = 6;
  private static final int LIST = 7;
  private static final int TUPLE = 8;
  private static final int DICT = 9;
  private static final int DEVICE = 10;

  /** The value; 0 if there is none. */
  final long address;

  /** The tensors in it: their memory may be Java's and must stay reachable while the value is used. */
  final List<StatorTensor> tensors = new ArrayList<>();

  private NativeValue(Object value, boolean given) {
    address = given ? create(value) : 0;
  }

  static NativeValue of(Object value) {
    return new NativeValue(value, true);
  }

  /** As `of`, but null is a NULL handle instead of None. */
  static NativeValue ofNullable(Object value) {
    return new NativeValue(value, value != null);
  }

  @Override
  public void close() {
    Native.stator_value_release(address);
  }

  private long create(Object value) {
    if (value == null) {
      return Status.make(Native::stator_value_create_none);
    }
    if (value instanceof StatorTensor tensor) {
      tensors.add(tensor);
      return retain(tensor);
    }
    if (value instanceof Boolean bool) {
      return Status.make(out -> Native.stator_value_create_bool(bool ? 1 : 0, out));
    }
    if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return Status.make(out -> Native.stator_value_create_int(((Number) value).longValue(), out));
    }
    if (value instanceof Double || value instanceof Float) {
      return Status.make(out -> Native.stator_value_create_float(((Number) value).doubleValue(), out));
    }
    if (value instanceof String text) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      try (Scratch copy = Scratch.of(bytes)) {
        return Status.make(out -> Native.stator_value_create_str(copy.address, bytes.length, out));
      }
    }
    if (value instanceof StatorTuple tuple) {
      return createTuple(tuple);
    }
    if (value instanceof Collection<?> items) {
      return createItems(items, array -> Status.make(out -> Native.stator_value_create_list(array, items.size(), out)));
    }
    if (value instanceof Map<?, ?> pairs) {
      return createItems(pairs.keySet(), keys -> createItems(pairs.values(), items ->
          Status.make(out -> Native.stator_value_create_dict(keys, items, pairs.size(), out))));
    }
    if (value instanceof StatorComplex number) {
      return Status.make(out -> Native.stator_value_create_complex(number.real(), number.imaginary(), out));
    }
    if (value instanceof StatorDevice device) {
      try (Scratch name = Scratch.text(device.name())) {
        return Status.make(out -> Native.stator_value_create_device(Scratch.address(name), out));
      }
    }
    if (value instanceof StatorObject object) {
      return retain(object);
    }
    throw StatorException.invalidArgument(
        "a %s cannot be passed to a model; tensors are StatorTensor.copyOf() or wrap()"
            .formatted(value.getClass().getName()));
  }

  private static long retain(Handle handle) {
    long value = handle.enter();
    try {
      Native.stator_value_retain(value);
      return value;
    } finally {
      handle.exit();
    }
  }

  /** Makes the items, and what holds them, which retains them. */
  private long createItems(Collection<?> items, LongUnaryOperator create) {
    List<Object> copy = new ArrayList<>(items);
    try (Scratch array = Scratch.cells(copy.size())) {
      int made = 0;
      try {
        for (; made < copy.size(); made++) {
          array.set(made, create(copy.get(made)));
        }
        return create.applyAsLong(array.address);
      } finally {
        for (int i = 0; i < made; i++) {
          Native.stator_value_release(array.getLong(i));
        }
      }
    }
  }

  private long createTuple(StatorTuple tuple) {
    List<Scratch> texts = new ArrayList<>();
    try (Scratch names = tuple.names().isEmpty() ? null : Scratch.cells(tuple.size())) {
      for (String name : tuple.names()) {
        texts.add(Scratch.text(name));
        names.set(texts.size() - 1, texts.get(texts.size() - 1).address);
      }
      return createItems(tuple, array -> Status.make(
          out -> Native.stator_value_create_tuple(array, tuple.size(), Scratch.address(names), out)));
    } finally {
      texts.forEach(Scratch::close);
    }
  }

  /** The Java value of a value that this call takes over. */
  static Object take(long value) {
    int kind = Native.stator_value_kind(value);
    if (kind == TENSOR) {
      return StatorTensor.take(value);
    }
    if (kind > DEVICE) {
      return new StatorObject(value);
    }
    try {
      return read(value, kind);
    } finally {
      Native.stator_value_release(value);
    }
  }

  private static Object read(long value, int kind) {
    try (Scratch out = Scratch.cells(2)) {
      switch (kind) {
        case NONE:
          return null;
        case BOOL:
          Status.check(Native.stator_value_as_bool(value, out.address));
          return out.getInt(0) != 0;
        case INT:
          Status.check(Native.stator_value_as_int(value, out.address));
          return out.getLong(0);
        case FLOAT:
          Status.check(Native.stator_value_as_float(value, out.address));
          return out.getDouble(0);
        case COMPLEX:
          Status.check(Native.stator_value_as_complex(value, out.at(0), out.at(1)));
          return new StatorComplex(out.getDouble(0), out.getDouble(1));
        case STR:
        case DEVICE:
          Status.check(Native.stator_value_as_str(value, out.at(0), out.at(1)));
          String text = new String(Scratch.read(out.getLong(0), out.getLong(1)), StandardCharsets.UTF_8);
          return kind == STR ? text : new StatorDevice(text);
        case LIST:
          return items(value);
        case TUPLE:
          return new StatorTuple(items(value), names(value));
        case DICT:
          return pairs(value);
        default:
          throw new AssertionError(kind);
      }
    }
  }

  private static List<Object> items(long value) {
    List<Object> items = new ArrayList<>();
    try {
      long size = Native.stator_value_size(value);
      for (long i = 0; i < size; i++) {
        items.add(item(value, i));
      }
      return items;
    } catch (Throwable e) {
      Stator.closeAll(items);
      throw e;
    }
  }

  private static Map<Object, Object> pairs(long value) {
    Map<Object, Object> pairs = new LinkedHashMap<>();
    try {
      long size = Native.stator_value_size(value);
      for (long i = 0; i < size; i++) {
        long index = i;
        pairs.put(take(Status.make(out -> Native.stator_value_key(value, index, out))), item(value, i));
      }
      return pairs;
    } catch (Throwable e) {
      Stator.closeAll(pairs);
      throw e;
    }
  }

  private static Object item(long value, long index) {
    return take(Status.make(out -> Native.stator_value_item(value, index, out)));
  }

  private static List<String> names(long value) {
    List<String> names = new ArrayList<>();
    long size = Native.stator_value_size(value);
    for (long i = 0; i < size; i++) {
      String name = Scratch.read(Native.stator_value_field(value, i));
      if (name == null) {
        return List.of();
      }
      names.add(name);
    }
    return names;
  }
}
