package io.github.statorruntime;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A run of DeepAndWide, batch 1, beside a call into C that does nothing. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 9, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(2)
public class RunBenchmark {
  private StatorModule module;
  private StatorMethod forward;
  private StatorRuntime runtime;
  private StatorArena arena;

  @Setup
  public void open() {
    Path model = Path.of(System.getProperty("stator.bench.model"));
    module = StatorModule.load(model, StatorOptions.of("plans", "signature"));
    forward = module.method("forward");
    runtime = module.createRuntime(StatorOptions.of("intra_op_threads", 1).set("latencies", "off"));
    arena = module.createArena();
    runtime.input(forward, 0, DType.FLOAT32, 1, 1, 32);
    runtime.input(forward, 1, DType.FLOAT32, 1, 1, 32);
    runtime.input(forward, 2, DType.FLOAT32, 1, 50);
  }

  @TearDown
  public void close() {
    runtime.close();
    arena.close();
    module.close();
  }

  /** What any call into C costs here. */
  @Benchmark
  public int emptyCall() {
    return Native.stator_status_code(0);
  }

  @Benchmark
  public void run() {
    runtime.run(forward, arena);
  }
}
