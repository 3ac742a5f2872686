// Images of float32 made wider or narrower: each element of the result is one of the input's, or lies between two of each dimension.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

struct ResampleSpec {
  int64_t images = 1;                // each of one channel
  int64_t in_image = 0, in_row = 0;  // steps in the input, in elements; elements of a row are neighbours
  int64_t out_height = 1, out_width = 1;
  int64_t out_image = 0, out_row = 0;
  int64_t parts = 1;
};

struct ResampleKernels {
  // Addresses: input, int32 columns [out_width], int32 rows [out_height], result.
  BoundKernel nearest;
  // Each element is first * (1 - way) + second * way, along rows, then from row to row; second is first or the next one. Addresses: input,
  // int32 columns [2][out_width] (first, second), their weights [2][out_width], the same for rows [2][out_height], result, scratch of
  // linear_floats().
  BoundKernel linear;
};

// Two rows of the result's width for each part.
inline int64_t linear_floats(const ResampleSpec& spec) { return 2 * spec.out_width * spec.parts; }

}  // namespace stator
