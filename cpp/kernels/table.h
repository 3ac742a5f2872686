// The bound kernels, as one table per CPU capability. simd/*.cpp are compiled once per capability and each exports its part of that table.
//
// Objects compiled for a capability may be linked into one library with objects for others, so they define nothing that the linker could
// merge across them: no inline function or template of another namespace than their own (tests/packaging/simd_objects.sh looks).
#pragma once

#include "kernels/attention.h"
#include "kernels/bound_kernel.h"
#include "kernels/matmul.h"

namespace stator {

// float32, one result, up to two inputs that broadcast: two loops, `kRuns` times `kRun` elements. The result is contiguous; an input moves
// on by its inner step (0 or 1) from element to element, by its outer step from run to run.
struct PointwiseKernels {
  enum Size { kRuns, kRun, kInnerA, kOuterA, kInnerB, kOuterB };
  BoundKernel add;      // a + numbers[0] * b
  BoundKernel mul;      // a * b
  BoundKernel sigmoid;  // of a contiguous a
};

struct KernelTable {
  const char* capability;  // as at::get_cpu_capability() has it
  const PointwiseKernels* pointwise;
  const MatmulKernels* matmul;
  const AttentionKernels* attention;
};

}  // namespace stator
