package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What callers do wrong: each gets a status that says so, and the next right call works. */
class BadInputTest extends StatorTest {
  @ParameterizedTest
  @CsvSource({
    "there_is_no_such_file.pt, 101, 101",
    "truncated.pt, 201, 201",
    "not_a_model.zip, 201, 201",
    "text.pt, 201, 201",
    "empty.pt, 201, 201",
    "saved_tensors.pt, 201, 202"
  })
  void filesThatAreNoModelAreRefusedByName(String file, int code, int orCode) {
    StatorException e = assertCode(() -> load(file), code, orCode);
    assertTrue(e.getMessage().contains(file), e.getMessage());
  }

  @Test
  void nullHandlesAreRefused() {
    try (Session s = new Session("add_mul.pt")) {
      ByteBuffer x = ByteBuffer.allocateDirect(4);
      int code = StatorException.INVALID_ARGUMENT;
      assertCode(() -> StatorModule.load(null), code);
      assertCode(() -> s.module.method(null), code);
      assertCode(() -> s.runtime.run(null, s.arena), code);
      assertCode(() -> s.runtime.run(s.forward, null), code);
      assertCode(() -> s.runtime.call(null, List.of(), null, s.arena), code);
      assertCode(() -> s.runtime.call(s.forward, List.of(), null, null), code);
      assertCode(() -> s.runtime.bind(null, 0, x, DType.UINT8, 1), code);
      assertCode(() -> s.runtime.bindValue(null, 0, 1L), code);
      assertCode(() -> s.runtime.bindOutput(null, 0, x, DType.UINT8, 1), code);
      assertCode(() -> s.runtime.unbind(null), code);
      assertCode(() -> StatorModule.load(model("add_mul.pt"), new StatorOptions().set(null, 1)), code);
    }
  }

  @Test
  void wrongTensorsAreRefusedAndTheRuntimeGoesOn() {
    try (Session s = new Session("linear.pt")) {
      s.runtime.input(s.forward, 0, DType.FLOAT64, 2, 8);
      assertCode(s::run, StatorException.OPERATOR_ERROR, StatorException.DTYPE_MISMATCH);
      assertEquals(0, s.arena.outputCount());
      s.runtime.input(s.forward, 0, DType.FLOAT32, 2, 7);
      StatorException e = assertCode(s::run, StatorException.OPERATOR_ERROR, StatorException.SHAPE_MISMATCH);
      assertEquals("aten::linear", e.operator());
      assertTrue(e.source().contains("linear"), e.source());
      s.runtime.input(s.forward, 0, DType.FLOAT32, 2, 8);
      s.run();
      assertEquals(8, s.floats(0).length);
    }
  }

  @Test
  void declaredSignaturesAreCheckedWhenBinding() {
    StatorOptions options = StatorOptions.of("signature", "x: float32[?, 8]");
    try (StatorModule module = StatorModule.load(model("linear.pt"), options);
        StatorRuntime runtime = module.createRuntime()) {
      StatorMethod forward = module.method("forward");
      assertCode(() -> runtime.input(forward, 0, DType.FLOAT64, 1, 8), StatorException.DTYPE_MISMATCH);
      assertCode(() -> runtime.input(forward, 0, DType.FLOAT32, 1, 7), StatorException.SHAPE_MISMATCH);
      StatorException e = assertThrows(StatorInputException.class, () -> runtime.input(forward, 0, DType.FLOAT32, 8));
      assertEquals(StatorException.SHAPE_MISMATCH, e.code());
      assertEquals("input \"x\" (argument 1)", e.argument());
      runtime.input(forward, 0, DType.FLOAT32, 1, 8);
    }
  }

  @Test
  void wrongCountsOfInputsAreRefused() {
    try (Session s = new Session("add_mul.pt"); StatorTensor x = StatorTensor.copyOf(new float[1], 1)) {
      s.runtime.input(s.forward, 0, DType.FLOAT32, 1);
      assertCode(s::run, StatorException.INPUT_MISSING);
      assertCode(() -> s.runtime.input(s.forward, 2, DType.FLOAT32, 1), StatorException.INVALID_ARGUMENT);
      assertCode(() -> s.runtime.input(s.forward, -1, DType.FLOAT32, 1), StatorException.INVALID_ARGUMENT);
      assertCode(() -> s.runtime.call(s.forward, List.of(x), null, s.arena), StatorException.INPUT_MISSING);
      assertCode(() -> s.module.call(x, x, x), StatorException.INVALID_ARGUMENT);
      assertCode(() -> s.runtime.call(s.forward, List.of(x), Map.of("zz", x), s.arena),
          StatorException.INVALID_ARGUMENT);
    }
  }

  @Test
  void wrongTypesAreRefused() {
    try (Session s = new Session("raises.pt"); StatorTensor x = StatorTensor.copyOf(new float[1], 1)) {
      assertCode(() -> s.runtime.bindValue(s.forward, 1, "text"), StatorException.TYPE_MISMATCH);
      assertCode(() -> s.runtime.bindValue(s.forward, 1, x), StatorException.TYPE_MISMATCH);
      assertCode(() -> s.runtime.bindValue(s.forward, 1, new Date()), StatorException.INVALID_ARGUMENT);
      assertCode(() -> s.runtime.bindValue(s.forward, 1, List.of(x, new Date())), StatorException.INVALID_ARGUMENT);
    }
  }

  @Test
  void modelsRaiseTheirOwnErrors() {
    try (Session s = new Session("raises.pt"); StatorTensor x = StatorTensor.copyOf(new float[] {2}, 1)) {
      s.runtime.bindValue(s.forward, 0, x);
      s.runtime.bindValue(s.forward, 1, -3);
      StatorException e = assertThrows(StatorModelException.class, s::run);
      assertTrue(e.getMessage().contains("n must be positive, got -3"), e.getMessage());
      assertEquals("MODEL_ERROR", e.codeName());
      s.runtime.bindValue(s.forward, 1, 3);
      s.run();
      assertEquals(6f, s.floats(0)[0]);
    }
  }

  @Test
  void buffersThatCannotHoldTheTensorAreRefused() {
    try (Session s = new Session("add_mul.pt")) {
      ByteBuffer good = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
      ByteBuffer swapped = ByteBuffer.allocateDirect(8).order(ByteOrder.BIG_ENDIAN);
      int code = StatorException.INVALID_ARGUMENT;
      s.runtime.bind(s.forward, 0, good, DType.FLOAT32, 2);
      assertCode(() -> s.runtime.bind(s.forward, 0, good, DType.FLOAT32, 3), code);
      assertCode(() -> s.runtime.bind(s.forward, 0, good, DType.FLOAT32, new long[] {2}, new long[] {2}), code);
      assertCode(() -> s.runtime.bind(s.forward, 0, good, DType.FLOAT32, 1L << 40, 1L << 40), code);
      assertCode(() -> s.runtime.bind(s.forward, 0, good, DType.FLOAT32, -1), code);
      assertCode(() -> s.runtime.bind(s.forward, 0, swapped, DType.FLOAT32, 2), code);
      assertCode(() -> s.runtime.bind(s.forward, 0, ByteBuffer.allocate(8), DType.UINT8, 8), code);
      assertCode(() -> StatorTensor.wrap(good.asReadOnlyBuffer(), DType.UINT8, 8), code);
      assertCode(() -> StatorTensor.copyOf(new float[3], 2), code);
    }
  }

  @Test
  void methodsOfAnotherModuleAreRefused() {
    try (Session s = new Session("add_mul.pt"); StatorModule other = load("add_mul.pt")) {
      assertCode(() -> s.runtime.run(other.method("forward"), s.arena), StatorException.INVALID_ARGUMENT);
    }
  }

  @Test
  void unknownMethodsAndOptionsAreRefused() {
    try (StatorModule module = load("two_methods.pt")) {
      StatorException e = assertCode(() -> module.method("scroe"), StatorException.NOT_FOUND);
      assertTrue(e.getMessage().contains("score"), e.getMessage());
      int code = StatorException.INVALID_ARGUMENT;
      e = assertCode(() -> module.createRuntime(StatorOptions.of("intra_op_thread", 1)), code);
      assertTrue(e.getMessage().contains("intra_op_threads"), e.getMessage());
      assertCode(() -> module.createRuntime(StatorOptions.of("intra_op_threads", "many")), code);
      assertCode(() -> module.createPool(new StatorOptions().set("max_runtimes", 1.5)), code);
    }
  }

  @Test
  void statefulModulesNeedAWordBeforeTheyPool() {
    try (StatorModule module = load("counter.pt")) {
      assertCode(() -> module.createPool(null), StatorException.INVALID_ARGUMENT);
      module.createPool(StatorOptions.of("state", "private")).close();
    }
  }

  @Test
  void closingTwiceDoesNothing() {
    Session s = new Session("add_mul.pt");
    StatorPool pool = s.module.createPool(null);
    StatorRuntime lent = pool.acquire(Duration.ZERO);
    StatorTensor tensor = StatorTensor.copyOf(new float[1], 1);
    for (int i = 0; i < 2; i++) {
      tensor.close();
      lent.close();
      pool.close();
      s.close();
    }
    assertTrue(s.module.isClosed());
  }

  @Test
  void useAfterCloseIsRefused() {
    Session s = new Session("add_mul.pt");
    StatorPool pool = s.module.createPool(null);
    StatorTensor tensor = StatorTensor.copyOf(new float[1], 1);
    tensor.close();
    assertThrows(StatorClosedException.class, tensor::floats);
    assertThrows(StatorClosedException.class, tensor::copyFloats);
    assertThrows(StatorClosedException.class, () -> s.runtime.bindValue(s.forward, 0, tensor));
    assertThrows(StatorClosedException.class, () -> s.module.call(tensor, tensor));
    s.arena.close();
    assertThrows(StatorClosedException.class, s::run);
    assertThrows(StatorClosedException.class, () -> s.arena.output(0));
    pool.close();
    assertThrows(StatorClosedException.class, pool::acquire);
    s.close();
    assertThrows(StatorClosedException.class, () -> s.module.method("forward"));
    assertThrows(StatorClosedException.class, s.module::createRuntime);
    assertThrows(StatorClosedException.class, s.forward::plan);
    assertThrows(StatorClosedException.class, () -> s.runtime.input(s.forward, 0, DType.FLOAT32, 1));
    assertThrows(IllegalStateException.class, s.runtime::unbind);
  }
}
