package io.github.statorruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Profiles, metrics, the log. */
class SeeingTest extends StatorTest {
  @Test
  void aProfileCountsRunsByNode() {
    try (Session s = new Session("add_mul.pt");
        StatorTensor x = StatorTensor.copyOf(new float[] {1, 2}, 2)) {
      assertCode(s.runtime::profileText, StatorException.INVALID_ARGUMENT);
      s.runtime.bindValue(s.forward, 0, x);
      s.runtime.bindValue(s.forward, 1, x);
      s.runtime.startProfile(10);
      for (int i = 0; i < 3; i++) {
        s.runtime.run(s.forward, s.arena);
      }
      s.runtime.stopProfile();
      s.runtime.run(s.forward, s.arena);
      assertTrue(s.runtime.profileText().contains("forward: 3 runs"));
      assertTrue(s.runtime.profileJson().contains("\"runs\": 3"));
      assertTrue(s.runtime.profileTrace().contains("\"traceEvents\""));
      assertTrue(s.forward.planSvg().startsWith("<svg "));
    }
  }

  @Test
  void metricsCountRunsAndFailures() {
    StatorOptions options = StatorOptions.of("name", "counted");
    try (StatorModule module = StatorModule.load(model("raises.pt"), options);
        StatorTensor x = StatorTensor.copyOf(new float[] {1, 2}, 2)) {
      Stator.closeAll(module.call(x, 2));
      StatorModelException raised = assertThrows(StatorModelException.class, () -> module.call(x, 0));
      assertEquals("ValueError", raised.exceptionType());
      assertTrue(module.metrics().contains("\"runs\": 1"));
      assertTrue(module.metrics().contains("\"MODEL_ERROR\": 1"));
      assertTrue(Stator.prometheusMetrics().contains("stator_runs_total{module=\"counted\""));
      try (StatorPool pool = module.createPool(null)) {
        assertTrue(pool.metrics().contains("\"lent\": 0"));
      }
    }
  }

  @Test
  void whatAModelPrintsReachesTheLogger() {
    List<String> seen = new CopyOnWriteArrayList<>();
    System.Logger logger = new System.Logger() {
      @Override
      public String getName() {
        return "test";
      }

      @Override
      public boolean isLoggable(Level level) {
        return level.getSeverity() >= Level.INFO.getSeverity();
      }

      @Override
      public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
        seen.add(level + " " + message);
      }

      @Override
      public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
        seen.add(level + " " + format);
      }
    };
    try (StatorModule module = load("prints.pt");
        StatorTensor x = StatorTensor.copyOf(new float[] {1, 2}, 2)) {
      Stator.logTo(logger);
      Stator.closeAll(module.call(x));
      Stator.logTo(null);
      Stator.closeAll(module.call(x));
    }
    assertEquals(List.of("INFO items: 2"), seen);
  }
}
