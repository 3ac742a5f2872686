// Convolutions of float32 over one or two dimensions (+ bias) (+ addend) (then clamped) in which vectors are of output channels: each
// position's own, so that narrow images fill them as wide ones do, and windows may lie anyhow.
#pragma once

#include "kernels/convolution.h"

namespace stator {

struct PositionsSpec : ConvolutionSpec {
  // From the first element of a window to that of the window below, and of the one beside it.
  int64_t row_leap = 0, column_leap = 0;
  // As set_blocks() says: panels that there are, tiles and panels that are taken at once, and tiles whose sums are kept until all parts of them are
  // there.
  int64_t all_panels = 1, tiles = 1, panels = 1, kept_tiles = 1;
};

constexpr int64_t kPanelChannels = 32;
// Room for the sums of a tile: of at most so many positions and a panel of channels.
constexpr int64_t kTilePositions = 16;
constexpr int64_t kTileFloats = kTilePositions * kPanelChannels;
// Of sums over more elements, parts are added one after the other.
constexpr int64_t kPartDepth = 192;

// What is read again and again is to be the smaller thing: for each panel of weights all of the input, or all weights for each tile. Of tiles, so
// many at once as have sums that stay in the second level cache beside that.
inline void set_blocks(PositionsSpec& spec) {
  constexpr int64_t kRoom = 96 * 1024, kFewestOfTile = 4;  // floats, positions
  const int64_t input = spec.lays_out ? spec.group_floats : spec.in_channels * spec.in_rows * spec.in_columns;
  spec.all_panels = (spec.out_channels + kPanelChannels - 1) / kPanelChannels;
  spec.panels = input <= spec.depth * spec.out_channels ? 1 : spec.all_panels;
  const int64_t most = kRoom / (spec.panels * kTileFloats);
  const int64_t all = spec.out_rows * ((spec.out_columns + kFewestOfTile - 1) / kFewestOfTile);
  spec.tiles = most < 1 ? 1 : all < most ? all : most;
  spec.kept_tiles = spec.depth > kPartDepth ? spec.tiles : 1;
}

// Addresses: input, weights, offsets (int64), [bias,] [addend,] result, [scratch where it lays out, as of ConvolutionKernels,] scratch
// of positions_floats().
// Weights: [groups][out_channels / kPanelChannels, rounded up][depth][kPanelChannels], zeros where there is no channel.
struct PositionsKernels {
  BoundKernel convolve;
};

inline int64_t positions_floats(const PositionsSpec& spec) {
  return spec.parts * spec.kept_tiles * spec.panels * kTileFloats;
}

}  // namespace stator
