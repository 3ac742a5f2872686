// Convolutions of float32 over one or two dimensions (+ bias) (then ReLU), by weights packed before.
#pragma once

#include "kernels/bound_kernel.h"
#include "kernels/windows.h"

namespace stator {

struct ConvolutionSpec : WindowSpec {
  int64_t images = 1, groups = 1;
  int64_t out_channels = 0;  // of a group, as in_channels
  bool has_bias = false;
  bool relu = false;
};

// Rows of a block of packed weights.
constexpr int64_t kConvolutionBlock = 8;

// Weights: [groups][out_channels / kConvolutionBlock, rounded up][depth][kConvolutionBlock], zeros where there is no channel.
// Addresses: input, weights, offsets (int64), [bias,] result, [scratch: group_floats for each part that has images of its own].
struct ConvolutionKernels {
  BoundKernel convolve;
};

}  // namespace stator
