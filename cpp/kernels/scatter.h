// Kernels that put elements where indices say, or add them there. Each returns false for an index that is out of range.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

enum class ScatterInto : int32_t { kPut, kAdd, kMultiply, kGreatest, kLeast };

// A copy of [outer, size, inner], contiguous; then for each of [outer, count, inner] an element is combined with what is at its index. Where
// several have one index, later ones come later.
struct ScatterSpec {
  int64_t outer, size, inner;
  int64_t count;
  int64_t index_outer, index_stride, index_inner;  // steps of the int64 or int32 indices; elements
  int64_t from_outer, from_stride, from_inner;     // of what is combined; elements
  ScatterInto into;
  bool wide;      // indices are int64, else int32
  bool negative;  // they may count from the end
};

struct ScatterKernels {
  // ScatterSpec. Addresses: what is copied, indices, what is combined, result.
  BoundKernel float32, float64, int64, int32, bytes;
};

}  // namespace stator
