// Runs a model that takes one float32 tensor of shape [1, 8], as build/models/linear.pt does:
//
//   java -Dstator.library.path=build/lib -cp 'bindings/java/target/*:bindings/java/target/lib/*' \
//       examples/java/Hello.java MODEL
//
// LibTorch: the environment variable STATOR_TORCH_HOME names its folder.

import io.github.statorruntime.DType;
import io.github.statorruntime.StatorArena;
import io.github.statorruntime.StatorMethod;
import io.github.statorruntime.StatorModule;
import io.github.statorruntime.StatorRuntime;
import io.github.statorruntime.StatorTensor;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Locale;

public final class Hello {
  public static void main(String[] args) {
    if (args.length != 1) {
      System.err.println("usage: java Hello.java MODEL");
      System.exit(2);
    }
    float[] features = {1, 2, 3, 4, 5, 6, 7, 8};
    try (StatorModule module = StatorModule.load(Path.of(args[0]))) {
      // The short way: values in, values out.
      try (StatorTensor x = StatorTensor.copyOf(features, 1, 8);
          StatorTensor y = (StatorTensor) module.call(x)) {
        show("call:  " + y, y.floats());
      }

      // The fast way: bind once, run many. A run copies nothing and makes no object.
      StatorMethod forward = module.method("forward");
      try (StatorRuntime runtime = module.createRuntime();
          StatorArena arena = module.createArena()) {
        FloatBuffer x = runtime.input(forward, 0, DType.FLOAT32, 1, 8).asFloatBuffer();
        x.put(0, features);
        for (int i = 0; i < 3; i++) {
          x.put(0, i);
          runtime.run(forward, arena);
          try (StatorTensor y = arena.output(0)) { // open, it keeps the arena from the next run
            show("run " + i + ":", y.floats());
          }
        }
      }
    }
  }

  private static void show(String label, FloatBuffer values) {
    StringBuilder line = new StringBuilder(label);
    for (int i = 0; i < values.limit(); i++) {
      line.append(String.format(Locale.ROOT, " %.4f", values.get(i)));
    }
    System.out.println(line);
  }
}
