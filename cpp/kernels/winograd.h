// Convolutions of float32 by 3x3 windows without strides or dilation, with 16 multiplications for four results instead of 36: F(2x2, 3x3) of
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015), after Winograd. The windows of WindowSpec are the patches: 4x4
// elements, at a stride of 2, of which 2x2 results are made. (+ bias) (+ addend) (then clamped)
#pragma once

#include "kernels/convolution.h"

namespace stator {

struct WinogradSpec : ConvolutionSpec {
  int64_t rows = 1, columns = 1;  // of the result
  int64_t matrices_floats = 0;    // winograd_floats(): scratch of a part
};

constexpr int64_t kPatch = 16;  // elements

// Addresses: input, weights, weights as they came, offsets (int64) of a patch's elements, [bias,] [addend,] result, scratch of group_floats for
// one group or each part, scratch of matrices_floats for each part.
// Weights: [groups][kPatch][out_channels / kConvolutionBlock, rounded up][in_channels][kConvolutionBlock], zeros where there is no channel.
struct WinogradKernels {
  int64_t patches;  // that are computed at once, at most
  BoundKernel convolve;
};

// Neighbouring matrices of a patch's elements shall not compete for the same sets of a cache.
constexpr int64_t kApart = 16;

// `patches`: that a kernel computes at once, at most.
inline int64_t winograd_floats(const WinogradSpec& spec, int64_t patches) {
  const int64_t made = (spec.out_channels + kConvolutionBlock - 1) / kConvolutionBlock * kConvolutionBlock;
  const int64_t vector = patches / 3, all = (spec.out_rows * spec.row + vector - 1) / vector * vector;
  return kPatch * ((spec.in_channels + made) * (all < patches ? all : patches) + 2 * kApart);
}

}  // namespace stator
