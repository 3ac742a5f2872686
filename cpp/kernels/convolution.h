// Convolutions of float32 over one or two dimensions (+ bias) (+ addend) (then clamped), by weights packed before. The addend lies as the result
// does.
#pragma once

#include "kernels/bound_kernel.h"
#include "kernels/windows.h"

namespace stator {

struct ConvolutionSpec : WindowSpec {
  int64_t images = 1, groups = 1;
  int64_t out_channels = 0;  // of a group, as in_channels
  bool has_bias = false, has_addend = false;
  bool clamps = false;
  float least = 0, most = 0;  // where it clamps: what is below is made the first, then what is above the second
  // Whether elements of windows are put side by side before they are summed up; rows of the result are neighbours then.
  bool packs = false;
};

// Rows of a block of packed weights.
constexpr int64_t kConvolutionBlock = 8;

// Of sums over more elements, parts are added one after the other.
constexpr int64_t kPanelDepth = 192;
// Three of the widest vectors for each, and room behind them.
constexpr int64_t kPanelFloats = (3 * kPanelDepth + 1) * 16;

// Weights: [groups][out_channels / kConvolutionBlock, rounded up][depth][kConvolutionBlock], zeros where there is no channel.
// Addresses: input, weights, offsets (int64), [bias,] [addend,] result, [scratch where it lays out: group_floats for each part that has images of its own,]
// [scratch where it packs: kPanelFloats for each part].
struct ConvolutionKernels {
  BoundKernel convolve;
  BoundKernel lay_out;  // only the input of the first group: addresses input, group_floats to be written
};

}  // namespace stator
