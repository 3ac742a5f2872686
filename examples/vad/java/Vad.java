// Voice activity detection in Java: java Vad DIR. What it reads and writes is in README.md one folder up.
//
// Binds once and runs many: a chunk is written to a buffer, one call runs it, and the probability is there.

import io.github.statorruntime.DType;
import io.github.statorruntime.Stator;
import io.github.statorruntime.StatorArena;
import io.github.statorruntime.StatorMethod;
import io.github.statorruntime.StatorModule;
import io.github.statorruntime.StatorOptions;
import io.github.statorruntime.StatorRuntime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

public final class Vad {
  private static final int CHUNK = 512;
  private static final long SAMPLE_RATE = 16000;
  private static final int WARM_UP_PASSES = 2;
  private static final int PASSES = 5;
  private static final int CALLS = 1_000_000;

  private final StatorRuntime runtime;
  private final StatorArena arena;
  private final StatorMethod resetStates;
  private final StatorMethod forward;
  private final FloatBuffer chunk;
  private final FloatBuffer probability;

  private Vad(StatorModule module, StatorRuntime runtime, StatorArena arena) {
    this.runtime = runtime;
    this.arena = arena;
    resetStates = module.method("reset_states");
    forward = module.method("forward");
    chunk = runtime.input(forward, 0, DType.FLOAT32, 1, CHUNK).asFloatBuffer();
    runtime.bindValue(forward, 1, SAMPLE_RATE);
    probability = runtime.output(forward, 0, DType.FLOAT32, 1, 1).asFloatBuffer();
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 1) {
      System.err.println("usage: java Vad DIR");
      System.exit(2);
    }
    Path folder = Path.of(args[0]);
    FloatBuffer samples = ByteBuffer.wrap(Files.readAllBytes(folder.resolve("chunks.f32")))
        .order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    float[] probabilities = new float[samples.capacity() / CHUNK];
    long[] fastest = new long[probabilities.length];
    try (StatorModule module = StatorModule.load(folder.resolve("model.pt"));
        StatorRuntime runtime = module.createRuntime(new StatorOptions().set("intra_op_threads", 1));
        StatorArena arena = module.createArena()) {
      Vad vad = new Vad(module, runtime, arena);
      for (int pass = -WARM_UP_PASSES; pass < PASSES; pass++) {
        if (pass <= 0) {
          Arrays.fill(fastest, Long.MAX_VALUE);
        }
        vad.pass(samples, probabilities, fastest);
      }
    }
    ByteBuffer bytes = ByteBuffer.allocate(probabilities.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(probabilities);
    Files.write(folder.resolve("java.f32"), bytes.array());
    double perChunk = Arrays.stream(fastest).average().orElseThrow() / 1e3;
    String json = "{\"language\": \"java\", \"passes\": %d, \"us_per_chunk\": %.3f, \"abi_call_us\": %.6f}%n";
    json = String.format(Locale.ROOT, json, PASSES, perChunk, emptyCall());
    Files.writeString(folder.resolve("java.json"), json);
  }

  /** What a call of the ABI costs that does next to nothing, in microseconds. */
  private static double emptyCall() {
    long start = System.nanoTime();
    for (int i = 0; i < CALLS; i++) {
      Stator.liveHandles(Stator.HandleKind.STATUS);
    }
    return (System.nanoTime() - start) / 1e3 / CALLS;
  }

  /** The whole recording once, from a fresh state; keeps the least time of each chunk, in nanoseconds. */
  private void pass(FloatBuffer samples, float[] probabilities, long[] fastest) {
    runtime.run(resetStates, arena);
    for (int i = 0; i < probabilities.length; i++) {
      long start = System.nanoTime();
      chunk.put(0, samples, i * CHUNK, CHUNK);
      runtime.run(forward, arena);
      probabilities[i] = probability.get(0);
      fastest[i] = Math.min(fastest[i], System.nanoTime() - start);
    }
  }
}
