// The demo in Java: java Vad DIR
//
// Runs DIR/model.pt on the chunks in DIR/chunks.f32; writes the probabilities to DIR/java.f32 and the time to
// DIR/java.json.

import io.github.statorruntime.DType;
import io.github.statorruntime.StatorArena;
import io.github.statorruntime.StatorMethod;
import io.github.statorruntime.StatorModule;
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
  private static final int WARM_UP_PASSES = 3;
  private static final int PASSES = 15;

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
    double[] times = new double[PASSES];
    try (StatorModule module = StatorModule.load(folder.resolve("model.pt"));
        StatorRuntime runtime = module.createRuntime();
        StatorArena arena = module.createArena()) {
      Vad vad = new Vad(module, runtime, arena);
      for (int pass = -WARM_UP_PASSES; pass < PASSES; pass++) {
        double time = vad.pass(samples, probabilities);
        if (pass >= 0) {
          times[pass] = time;
        }
      }
    }
    ByteBuffer bytes = ByteBuffer.allocate(probabilities.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(probabilities);
    Files.write(folder.resolve("java.f32"), bytes.array());
    Arrays.sort(times);
    String json = "{\"language\": \"Java\", \"us_per_chunk\": %.3f}%n";
    Files.writeString(folder.resolve("java.json"), String.format(Locale.ROOT, json, times[PASSES / 2]));
  }

  /** The whole recording once, from a fresh state: microseconds per chunk. */
  private double pass(FloatBuffer samples, float[] probabilities) {
    runtime.run(resetStates, arena);
    long start = System.nanoTime();
    for (int i = 0; i < probabilities.length; i++) {
      chunk.put(0, samples, i * CHUNK, CHUNK);
      runtime.run(forward, arena);
      probabilities[i] = probability.get(0);
    }
    return (System.nanoTime() - start) / 1e3 / probabilities.length;
  }
}
