// Convolutions of float32 over two dimensions in which each channel has a window of its own (+ bias) (then clamped), from the input as it lies.
#pragma once

#include "kernels/convolution.h"

namespace stator {

// Groups are channels. Rows and columns of windows, and steps between them, are the same; columns of the input are neighbours.
struct DepthwiseSpec : ConvolutionSpec {
  int64_t size = 3, stride = 1;
};

constexpr bool has_depthwise_kernel(int64_t size, int64_t stride) {
  return (size == 3 || size == 5 || size == 7) && (stride == 1 || stride == 2);
}

// Addresses: input, weights [channels][size][size], [bias,] result.
struct DepthwiseKernels {
  BoundKernel convolve;
};

}  // namespace stator
