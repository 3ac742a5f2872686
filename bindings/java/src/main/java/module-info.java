/** Runs trained PyTorch models on CPUs. */
module io.github.statorruntime {
  requires com.sun.jna;

  exports io.github.statorruntime;
}
