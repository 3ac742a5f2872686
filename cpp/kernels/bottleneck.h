// A convolution, and of each channel of its results alone another one: the first two of an inverted bottleneck, which MobileNets are made of.
//
// Some channels at a time, side by side in vectors, and of these only the rows that windows meet: what lies between the two convolutions stays in
// the first level cache or in the second, needs not be laid out for the second one, and fills vectors however narrow images are.
#pragma once

#include "kernels/depthwise.h"

namespace stator {

struct BottleneckSpec {
  // Of one image in one group, with neighbours in the input as it lies, nothing to be added, and results without gaps.
  ConvolutionSpec first;
  DepthwiseSpec second;
  // Channels of the first one's weights that lie side by side: kConvolutionBlock or kPanelChannels.
  int64_t weights_side_by_side = kConvolutionBlock;
  // As set_rows() says: rows between the two that are made at once, and that are kept; their columns, with what is around; results that are kept
  // until they are laid apart.
  int64_t made_at_once = 1, kept_rows = 1, columns = 1, kept_results = 1;
  int64_t part_floats = 0;  // of scratch
  int64_t parts = 1;
};

// Addresses: input, weights as ConvolutionKernels or PositionsKernels have them, offsets (int64), [bias,] the second one's weights
// [channels][size][size], [its bias,] result,
// scratch of part_floats for each part.
struct BottleneckKernels {
  BoundKernel convolve;  // NULL: there is none
  int64_t lanes;         // of a vector: channels are a multiple of them
  int64_t vectors;       // that are taken at once
};

// How much of what is between the two is made and kept at once, and so how much scratch it takes. first, second and parts must be set.
inline void set_rows(BottleneckSpec& spec, const BottleneckKernels& kernels) {
  // Tiles of positions are filled well by so many.
  constexpr int64_t kFewestPositions = 48, kResults = 128;
  const ConvolutionSpec& first = spec.first;
  const DepthwiseSpec& second = spec.second;
  const auto greater = [](int64_t a, int64_t b) { return a > b ? a : b; };
  const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const bool as_one = first.row == first.out_columns;
  spec.made_at_once = as_one ? (kFewestPositions + first.out_columns - 1) / first.out_columns : 1;
  spec.kept_rows = least(first.out_rows, second.size - 1 + spec.made_at_once);
  spec.columns =
      greater(second.columns_before + first.out_columns, (second.out_columns - 1) * second.stride + second.size);
  spec.kept_results = greater(kResults, second.out_columns + 8);
  const int64_t vectors = spec.kept_rows * spec.columns + spec.kept_results + second.size * second.size;
  spec.part_floats = kernels.vectors * vectors * kernels.lanes;
}

}  // namespace stator
