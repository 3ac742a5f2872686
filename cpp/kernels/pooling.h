// Pooling of float32 over one or two dimensions: the largest element of each window (a NaN is), or the mean of all.
#pragma once

#include "kernels/bound_kernel.h"
#include "kernels/windows.h"

namespace stator {

struct PoolingSpec : WindowSpec {
  int64_t images = 1;  // each of one channel
  float count = 1.0f;  // what sums are divided by
  // Of a window of two or three columns, where the input is read as it lies though results do not read neighbours in it: columns are neighbours, of
  // which windows begin at each or at every other one. Else 0.
  int64_t window_rows = 0, window_columns = 0;
};

// Addresses: input, offsets (int64; not read where the input is as it lies), result, [scratch: group_floats for each part].
struct PoolingKernels {
  BoundKernel largest, mean;
};

}  // namespace stator
