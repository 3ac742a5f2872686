package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;

/** Runs tests/conformance/cases.json; README.md beside it tells the format. */
class ConformanceTest {
  private static final JsonObject TABLE = read();

  private static JsonObject read() {
    try {
      Path path = Path.of(System.getProperty("stator.conformance"));
      return JsonParser.parseString(Files.readString(path)).getAsJsonObject();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @TestFactory
  Stream<DynamicTest> signatures() {
    return objects(TABLE.get("signatures")).map(it ->
        test(text(it, "model") + " " + text(it, "method"), () -> checkSignature(it)));
  }

  @TestFactory
  Stream<DynamicTest> cases() {
    return objects(TABLE.get("cases")).flatMap(it -> {
      Stream<DynamicTest> called = Stream.of(test(text(it, "name"), () -> checkCase(it, false)));
      boolean bindable = it.has("bindable") && it.get("bindable").getAsBoolean();
      return bindable
          ? Stream.concat(called, Stream.of(test(text(it, "name") + " (bound)", () -> checkCase(it, true))))
          : called;
    });
  }

  private static DynamicTest test(String name, Executable body) {
    return dynamicTest(name, () -> {
      Map<Stator.HandleKind, Long> before = StatorTest.handles();
      body.execute();
      assertEquals(before, StatorTest.handles());
    });
  }

  private static void checkSignature(JsonObject signature) {
    try (StatorModule module = StatorTest.load(text(signature, "model"))) {
      StatorMethod method = module.method(text(signature, "method"));
      List<JsonObject> inputs = objects(signature.get("inputs")).toList();
      assertEquals(inputs.stream().map(input -> text(input, "name")).toList(), method.inputNames());
      assertEquals(inputs.stream().map(input -> text(input, "type")).toList(), method.inputTypes());
      for (int i = 0; i < inputs.size(); i++) {
        assertEquals(inputs.get(i).get("written").getAsBoolean(), method.inputWritten(i));
      }
      assertEquals(signature.get("outputs").getAsInt(), method.outputCount());
    }
  }

  private static void checkCase(JsonObject test, boolean bound) {
    if (test.has("error")) {
      expectError(test.getAsJsonObject("error"), () -> loadCase(test).close());
      return;
    }
    try (StatorModule module = loadCase(test);
        StatorRuntime runtime = module.createRuntime();
        StatorArena arena = module.createArena()) {
      int place = 0;
      List<Object> objects = new ArrayList<>(); // what steps gave, if it was an object
      for (JsonObject step : objects(test.get("steps")).toList()) {
        String where = "step " + place++;
        objects.add(null);
        Executable body = () -> {
          if (bound) {
            runBound(step, module, runtime, arena, objects, where);
          } else {
            call(step, module, runtime, arena, objects, where);
          }
        };
        if (step.has("error")) {
          expectError(step.getAsJsonObject("error"), body);
        } else {
          try {
            body.execute();
          } catch (Throwable e) {
            throw new AssertionError(where + ": " + e.getMessage(), e);
          }
        }
        runtime.unbind();
      }
      Stator.closeAll(objects);
    }
  }

  /** The argument; an object of an earlier step stays the case's. */
  private static Object argument(JsonObject json, List<Object> objects) {
    return json.has("result") ? objects.get(json.get("result").getAsInt()) : value(json);
  }

  /** Closes what a step gave or took, but keeps an object for later steps. */
  private static void done(Object value, List<Object> objects) {
    if (!(value instanceof StatorObject)) {
      Stator.closeAll(value);
    } else if (!objects.contains(value)) {
      objects.set(objects.size() - 1, value);
    }
  }

  private static StatorModule loadCase(JsonObject test) {
    StatorOptions options = new StatorOptions();
    if (test.has("options")) {
      test.getAsJsonObject("options").asMap().forEach((key, value) -> options.set(key, value.getAsString()));
    }
    return StatorModule.load(StatorTest.model(text(test, "model")), options);
  }

  private static void call(
      JsonObject step, StatorModule module, StatorRuntime runtime, StatorArena arena, List<Object> objects,
      String where) {
    List<Object> args = new ArrayList<>();
    objects(step.get("args")).forEach(argument -> args.add(argument(argument, objects)));
    Map<String, Object> kwargs = new LinkedHashMap<>();
    if (step.has("kwargs")) {
      for (JsonElement pair : step.getAsJsonArray("kwargs")) {
        kwargs.put(pair.getAsJsonArray().get(0).getAsString(), value(pair.getAsJsonArray().get(1).getAsJsonObject()));
      }
    }
    Object result = null;
    try {
      StatorMethod method = module.method(text(step, "method"));
      result = runtime.call(method, args, kwargs.isEmpty() ? null : kwargs, arena);
      if (step.has("result")) {
        compare(result, step.getAsJsonObject("result"), where + ": result");
      }
    } finally {
      done(result, objects);
      args.forEach(argument -> done(argument, objects));
      Stator.closeAll(kwargs);
    }
  }

  private static void runBound(
      JsonObject step, StatorModule module, StatorRuntime runtime, StatorArena arena, List<Object> objects,
      String where) {
    StatorMethod method = module.method(text(step, "method"));
    List<ByteBuffer> buffers = new ArrayList<>();
    for (JsonObject argument : objects(step.get("args")).toList()) {
      int index = buffers.size();
      if (argument.has("tensor")) {
        JsonObject tensor = argument.getAsJsonObject("tensor");
        buffers.add(layOut(tensor));
        runtime.bind(method, index, buffers.get(index), dtype(tensor), shape(tensor), strides(tensor));
      } else {
        buffers.add(null);
        Object value = argument(argument, objects);
        try {
          runtime.bindValue(method, index, value);
        } finally {
          done(value, objects);
        }
      }
    }
    runtime.run(method, arena);
    Object result = arena.result();
    try {
      if (step.has("result")) {
        compare(result, step.getAsJsonObject("result"), where + ": result");
      }
    } finally {
      done(result, objects);
    }
    if (step.has("result")) {
      List<JsonObject> tensors = new ArrayList<>();
      collectTensors(step.getAsJsonObject("result"), tensors);
      assertEquals(tensors.size(), arena.outputCount());
      for (int i = 0; i < tensors.size(); i++) {
        try (StatorTensor output = arena.output(i)) {
          compare(output, tensors.get(i), where + ": output " + i);
        }
      }
    }
    if (step.has("written")) {
      for (JsonElement pair : step.getAsJsonArray("written")) {
        int index = pair.getAsJsonArray().get(0).getAsInt();
        JsonObject expected = pair.getAsJsonArray().get(1).getAsJsonObject();
        JsonObject given = objects(step.get("args")).toList().get(index).getAsJsonObject("tensor");
        try (StatorTensor now = StatorTensor.wrap(buffers.get(index), dtype(given), shape(given), strides(given))) {
          compareElements(now, expected.getAsJsonObject("tensor"), where + ": written " + index);
        }
      }
    }
  }

  private static void expectError(JsonObject expected, Executable body) {
    List<String> codes = texts(expected.get("codes"));
    StatorException e;
    try {
      body.execute();
      throw new AssertionError("expected " + codes + ", but it succeeded");
    } catch (StatorException thrown) {
      e = thrown;
    } catch (Throwable other) {
      throw new AssertionError(other.getMessage(), other);
    }
    assertTrue(codes.contains(e.codeName()), "expected " + codes + ", got " + e.codeName() + ": " + e.getMessage());
    Map<String, String> parts = Map.of(
        "message", e.getMessage(), "argument", e.argument(), "operator", e.operator(), "source", e.source());
    parts.forEach((part, said) -> {
      if (expected.has(part)) {
        texts(expected.get(part)).forEach(wanted ->
            assertTrue(said.contains(wanted), part + ": expected \"" + wanted + "\" in \"" + said + "\""));
      }
    });
  }

  // Values of the table.

  private static List<Object> values(JsonElement json) {
    List<Object> values = new ArrayList<>();
    objects(json).forEach(item -> values.add(value(item)));
    return values;
  }

  private static Object value(JsonObject json) {
    String kind = kind(json);
    JsonElement given = json.get(kind);
    return switch (kind) {
      case "none" -> null;
      case "bool" -> given.getAsBoolean();
      case "int" -> given.getAsLong();
      case "float" -> number(given);
      case "complex" -> complex(given);
      case "str" -> given.getAsString();
      case "device" -> new StatorDevice(given.getAsString());
      case "list" -> values(given);
      case "tuple" -> json.has("names")
          ? StatorTuple.named(texts(json.get("names")), values(given))
          : StatorTuple.of(values(given).toArray());
      case "dict" -> {
        Map<Object, Object> pairs = new LinkedHashMap<>();
        for (JsonElement pair : given.getAsJsonArray()) {
          JsonArray both = pair.getAsJsonArray();
          pairs.put(value(both.get(0).getAsJsonObject()), value(both.get(1).getAsJsonObject()));
        }
        yield pairs;
      }
      case "tensor" -> {
        JsonObject tensor = given.getAsJsonObject();
        yield StatorTensor.wrap(layOut(tensor), dtype(tensor), shape(tensor), strides(tensor));
      }
      default -> throw new AssertionError("unknown kind of value: " + kind);
    };
  }

  private static StatorComplex complex(JsonElement json) {
    return new StatorComplex(number(json.getAsJsonArray().get(0)), number(json.getAsJsonArray().get(1)));
  }

  private static String kind(JsonObject json) {
    return json.keySet().iterator().next();
  }

  private static ByteBuffer layOut(JsonObject tensor) {
    DType dtype = dtype(tensor);
    long[] shape = shape(tensor);
    long[] strides = strides(tensor);
    ByteBuffer buffer = Buffers.allocate(DType.UINT8, Buffers.extent(dtype, shape, strides));
    long[] steps = strides == null ? contiguous(shape) : strides;
    JsonArray data = components(tensor);
    int parts = parts(dtype);
    for (int k = 0; k < data.size() / parts; k++) {
      long offset = 0;
      long rest = k;
      for (int i = shape.length - 1; i >= 0; i--) {
        offset += rest % shape[i] * steps[i];
        rest /= shape[i];
      }
      for (int part = 0; part < parts; part++) {
        int at = (int) offset * dtype.bytes() + part * dtype.bytes() / parts;
        put(buffer, at, dtype, data.get(k * parts + part));
      }
    }
    return buffer;
  }

  /** The numbers that make up the elements; of some types the table has their bits. */
  private static JsonArray components(JsonObject tensor) {
    return tensor.getAsJsonArray(tensor.has("bits") ? "bits" : "data");
  }

  /** How many numbers of the table make an element. */
  private static int parts(DType dtype) {
    return dtype == DType.COMPLEX64 || dtype == DType.COMPLEX128 ? 2 : 1;
  }

  private static void put(ByteBuffer buffer, int at, DType dtype, JsonElement element) {
    switch (dtype) {
      case FLOAT32, COMPLEX64 -> buffer.putFloat(at, (float) number(element));
      case FLOAT64, COMPLEX128 -> buffer.putDouble(at, number(element));
      case BFLOAT16 -> buffer.putShort(at, (short) (Float.floatToRawIntBits((float) number(element)) >>> 16));
      case INT64, UINT64 -> buffer.putLong(at, element.getAsLong());
      case INT32, UINT32, COMPLEX32 -> buffer.putInt(at, (int) element.getAsLong());
      case INT16, UINT16, FLOAT16 -> buffer.putShort(at, (short) element.getAsLong());
      default -> buffer.put(at, (byte) element.getAsLong());
    }
  }

  private static double component(ByteBuffer buffer, int at, DType dtype) {
    return switch (dtype) {
      case FLOAT32, COMPLEX64 -> buffer.getFloat(at);
      case FLOAT64, COMPLEX128 -> buffer.getDouble(at);
      case BFLOAT16 -> Float.intBitsToFloat(buffer.getShort(at) << 16);
      case INT64, UINT64 -> buffer.getLong(at);
      case INT32 -> buffer.getInt(at);
      case UINT32, COMPLEX32 -> Integer.toUnsignedLong(buffer.getInt(at));
      case INT16 -> buffer.getShort(at);
      case UINT16, FLOAT16 -> Short.toUnsignedInt(buffer.getShort(at));
      case INT8 -> buffer.get(at);
      default -> buffer.get(at) & 0xff;
    };
  }

  private static void collectTensors(JsonObject json, List<JsonObject> tensors) {
    switch (kind(json)) {
      case "tensor" -> tensors.add(json);
      case "list", "tuple" -> objects(json.get(kind(json))).forEach(item -> collectTensors(item, tensors));
      case "dict" -> {
        for (JsonElement pair : json.getAsJsonArray("dict")) {
          collectTensors(pair.getAsJsonArray().get(0).getAsJsonObject(), tensors);
          collectTensors(pair.getAsJsonArray().get(1).getAsJsonObject(), tensors);
        }
      }
      default -> { }
    }
  }

  // Comparing.

  private static void compare(Object got, JsonObject expected, String where) {
    String kind = kind(expected);
    JsonElement wanted = expected.get(kind);
    switch (kind) {
      case "none" -> assertNull(got, where);
      case "bool" -> assertEquals(wanted.getAsBoolean(), got, where);
      case "int" -> assertEquals(wanted.getAsLong(), got, where);
      case "float" -> assertClose(number(wanted), assertInstanceOf(Double.class, got, where), "float64", where);
      case "complex" -> {
        StatorComplex number = assertInstanceOf(StatorComplex.class, got, where);
        assertClose(complex(wanted).real(), number.real(), "float64", where + ": real part");
        assertClose(complex(wanted).imaginary(), number.imaginary(), "float64", where + ": imaginary part");
      }
      case "str" -> assertEquals(wanted.getAsString(), got, where);
      case "object" -> assertInstanceOf(StatorObject.class, got, where);
      case "device" -> assertEquals(new StatorDevice(wanted.getAsString()), got, where);
      case "tensor" -> compareTensor(assertInstanceOf(StatorTensor.class, got, where), wanted.getAsJsonObject(), where);
      case "list", "tuple" -> {
        assertEquals(kind.equals("tuple"), got instanceof StatorTuple, where + " is a tuple");
        List<?> items = assertInstanceOf(List.class, got, where);
        if (got instanceof StatorTuple tuple) {
          assertEquals(expected.has("names") ? texts(expected.get("names")) : List.of(), tuple.names(), where);
        }
        compareAll(items, objects(wanted).toList(), where);
      }
      case "dict" -> {
        Map<?, ?> pairs = assertInstanceOf(Map.class, got, where);
        List<JsonObject> keys = new ArrayList<>();
        List<JsonObject> items = new ArrayList<>();
        for (JsonElement pair : wanted.getAsJsonArray()) {
          keys.add(pair.getAsJsonArray().get(0).getAsJsonObject());
          items.add(pair.getAsJsonArray().get(1).getAsJsonObject());
        }
        compareAll(new ArrayList<>(pairs.keySet()), keys, where + " key");
        compareAll(new ArrayList<>(pairs.values()), items, where);
      }
      default -> throw new AssertionError("unknown kind of value: " + kind);
    }
  }

  private static void compareAll(List<?> got, List<JsonObject> expected, String where) {
    assertEquals(expected.size(), got.size(), where);
    for (int i = 0; i < got.size(); i++) {
      compare(got.get(i), expected.get(i), where + "[" + i + "]");
    }
  }

  private static void compareTensor(StatorTensor got, JsonObject expected, String where) {
    compareElements(got, expected, where);
    long[] shape = shape(expected);
    long[] strides = expected.has("strides") ? strides(expected) : contiguous(shape);
    for (int i = 0; i < shape.length && got.elementCount() > 0; i++) {
      if (shape[i] > 1) {
        assertEquals(strides[i], got.strides()[i], where + ": stride " + i);
      }
    }
  }

  private static void compareElements(StatorTensor got, JsonObject expected, String where) {
    assertEquals(dtype(expected), got.dtype(), where);
    org.junit.jupiter.api.Assertions.assertArrayEquals(shape(expected), got.shape(), where);
    ByteBuffer elements = ByteBuffer.wrap(got.copyBytes()).order(ByteOrder.nativeOrder());
    JsonArray data = components(expected);
    int bytes = got.dtype().bytes() / parts(got.dtype());
    for (int k = 0; k < data.size(); k++) {
      double wanted = number(data.get(k));
      assertClose(wanted, component(elements, k * bytes, got.dtype()), text(expected, "dtype"), where + ": number " + k);
    }
  }

  private static void assertClose(double expected, double got, String dtype, String where) {
    JsonArray tolerance = TABLE.getAsJsonObject("tolerances").getAsJsonArray(dtype);
    boolean exact = tolerance == null || Double.isInfinite(expected) || Double.isNaN(expected);
    double allowed = exact ? 0 : tolerance.get(1).getAsDouble() + tolerance.get(0).getAsDouble() * Math.abs(expected);
    if (exact ? Double.compare(expected + 0.0, got + 0.0) != 0 : !(Math.abs(got - expected) <= allowed)) {
      throw new AssertionError(where + ": expected " + expected + ", got " + got);
    }
  }

  // Reading JSON.

  private static DType dtype(JsonObject tensor) {
    return DType.valueOf(text(tensor, "dtype").toUpperCase(java.util.Locale.ROOT));
  }

  private static long[] shape(JsonObject tensor) {
    return longs(tensor.get("shape"));
  }

  private static long[] strides(JsonObject tensor) {
    return tensor.has("strides") ? longs(tensor.get("strides")) : null;
  }

  private static long[] contiguous(long[] shape) {
    long[] strides = new long[shape.length];
    long step = 1;
    for (int i = shape.length - 1; i >= 0; i--) {
      strides[i] = step;
      step *= shape[i];
    }
    return strides;
  }

  private static long[] longs(JsonElement json) {
    return elements(json).mapToLong(JsonElement::getAsLong).toArray();
  }

  private static double number(JsonElement json) {
    String text = json.getAsString();
    return switch (text) {
      case "nan" -> Double.NaN;
      case "inf" -> Double.POSITIVE_INFINITY;
      case "-inf" -> Double.NEGATIVE_INFINITY;
      default -> Double.parseDouble(text);
    };
  }

  private static String text(JsonObject json, String key) {
    return json.get(key).getAsString();
  }

  private static List<String> texts(JsonElement json) {
    return elements(json).map(JsonElement::getAsString).toList();
  }

  private static Stream<JsonObject> objects(JsonElement json) {
    return elements(json).map(JsonElement::getAsJsonObject);
  }

  private static Stream<JsonElement> elements(JsonElement json) {
    return StreamSupport.stream(json.getAsJsonArray().spliterator(), false);
  }
}
