// Pooling of float32 over one or two dimensions: the largest element of each window (a NaN is), or the mean of all.
#pragma once

#include "kernels/bound_kernel.h"
#include "kernels/windows.h"

namespace stator {

struct PoolingSpec : WindowSpec {
  int64_t images = 1;  // each of one channel
  float count = 1.0f;  // what sums are divided by
};

// Addresses: input, offsets (int64), result, [scratch: group_floats for each part].
struct PoolingKernels {
  BoundKernel largest, mean;
};

}  // namespace stator
