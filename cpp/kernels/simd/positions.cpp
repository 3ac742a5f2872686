// Convolution with vectors of output channels: positions.h says what it computes. Compiled once per CPU capability.
#include "kernels/positions.h"

#include "kernels/simd/convolution_tiles.h"

namespace stator::CPU_CAPABILITY {

extern const PositionsKernels positions_kernels;

namespace {

// Positions at two vectors of channels: as many sums as registers have room for. They fit into one vector.
constexpr int kMostPositions = kWidth == 16 ? 12 : kWidth == 8 ? 6 : 4;
constexpr int64_t kPair = 2 * kWidth;

struct SummedGroup : Group {
  float* sums;  // the part's own
};

// Neighbouring positions of a row: where the first one's window begins, how far behind it the next one's, and where their results do.
struct Neighbours {
  int64_t in, leap, out, count;
};

// Rows cut into tiles of about equal length. All rows are one if they follow one another in the input and in the result.
struct Rows {
  int64_t rows, columns, tiles;
  int64_t row_leap, column_leap, out_row;

  explicit Rows(const PositionsSpec& spec)
      : rows(spec.out_rows),
        columns(spec.out_columns),
        tiles(0),
        row_leap(spec.row_leap),
        column_leap(spec.column_leap),
        out_row(spec.out_row) {
    if (columns == 1) column_leap = row_leap;
    if (row_leap == columns * column_leap && out_row == columns) {
      columns *= rows;
      rows = 1;
    }
    tiles = quotient_up(columns, kMostPositions);
  }
  int64_t count() const { return rows * tiles; }
  Neighbours tile(int64_t i) const {
    const int64_t row = i / tiles, at = i - row * tiles;
    const int64_t first = at * columns / tiles, end = (at + 1) * columns / tiles;
    return {row * row_leap + first * column_leap, column_leap, row * out_row + first, end - first};
  }
};

// What is summed up for a tile and two vectors of channels.
struct Terms {
  const float *in, *weights;
  const int64_t* offsets;
  int64_t depth, leap;
  float* sums;  // [position][kPanelChannels]
  bool goes_on;
  // Weights that are wanted next, and how many of them shall be fetched for each element.
  const float* ahead;
  int64_t ahead_step;
};

template <int kCount>
void sum_up(const Terms& terms) {
  const float* weights = terms.weights;
  const float* ahead = terms.ahead;
  const int64_t leap = terms.leap, ahead_step = terms.ahead_step;
  Lanes sums[kCount * 2];
  each<kCount * 2>([&](auto i) __attribute__((always_inline)) { sums[i.value] = Lanes{}; });
  for (int64_t k = 0; k < terms.depth; ++k, weights += kPanelChannels, ahead += ahead_step) {
    __builtin_prefetch(ahead, 0, 2);
    const float* in = terms.in + terms.offsets[k];
    const Lanes first = load(weights), second = load(weights + kWidth);
    each<kCount>([&](auto i) __attribute__((always_inline)) {
      const Lanes element = all_lanes(in[i.value * leap]);
      sums[2 * i.value] = fused(element, first, sums[2 * i.value]);
      sums[2 * i.value + 1] = fused(element, second, sums[2 * i.value + 1]);
    });
  }
  each<kCount * 2>([&](auto i) __attribute__((always_inline)) {
    float* sum = terms.sums + i.value / 2 * kPanelChannels + i.value % 2 * kWidth;
    store(terms.goes_on ? sums[i.value] + load(sum) : sums[i.value], sum);
  });
}

// sums[position][channel] -> turned[channel][position]
STATOR_INLINE void turn(const float* sums, int64_t positions, int64_t channels, float (&turned)[kTileFloats]) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  for (int64_t position = 0; position < positions; position += 8) {
    for (int64_t channel = 0; channel < channels; channel += 8)
      transpose_8x8(sums + position * kPanelChannels + channel, kPanelChannels,
                    turned + channel * kTilePositions + position, kTilePositions);
  }
#else
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t channel = 0; channel < channels; ++channel)
      turned[channel * kTilePositions + position] = sums[position * kPanelChannels + channel];
  }
#endif
}

void finish(const PositionsSpec& spec, const Group& group, const Neighbours& tile, int64_t channel, const float* sums) {
  const int64_t channels = least(kPanelChannels, spec.out_channels - channel);
  float turned[kTileFloats];
  turn(sums, tile.count, channels, turned);
  const Part part(tile.count);
  const int64_t first = channel * spec.out_channel + tile.out;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t place = first + c * spec.out_channel;
    Lanes result = load(turned + c * kTilePositions);
    if (group.bias) result += all_lanes(group.bias[channel + c]);
    if (group.addend) result += part.load(group.addend + place);
    if (spec.clamps) result = clamped(result, spec.least, spec.most);
    part.store(result, group.out + place);
  }
}

// Elements of windows [depth.first, depth.last), at the positions of some tiles and for some panels of channels.
struct Block {
  Range tiles, panels, depth;

  int64_t elements() const { return depth.last - depth.first; }
};

void convolve_tile(const PositionsSpec& spec, const Group& group, const Neighbours& tile, const Block& block,
                   Terms terms, float* sums) {
  terms.in = group.in + tile.in;
  terms.leap = tile.leap;
  for (int64_t panel = block.panels.first; panel < block.panels.last; ++panel, sums += kTileFloats) {
    for (int64_t pair = 0; pair < kPanelChannels; pair += kPair) {
      terms.weights = group.weights + (panel * spec.depth + block.depth.first) * kPanelChannels + pair;
      terms.sums = sums + pair;
      with_count<kMostPositions>(tile.count,
                                 [&](auto count) __attribute__((always_inline)) { sum_up<count.value>(terms); });
    }
    if (block.depth.last == spec.depth) finish(spec, group, tile, panel * kPanelChannels, sums);
  }
}

// Weights of a single panel are followed by those of the next block, and the last ones by the first: each tile fetches a part of them, so that the
// first one need not wait.
void convolve_block(const PositionsSpec& spec, const SummedGroup& group, const Rows& rows, const Block& block) {
  const int64_t tiles = block.tiles.last - block.tiles.first;
  Terms terms{};
  terms.offsets = group.offsets + block.depth.first;
  terms.depth = block.elements();
  terms.goes_on = block.depth.first > 0;
  const int64_t behind = block.panels.first * spec.depth + block.depth.last;
  const bool is_last = behind + block.elements() > quotient_up(spec.out_channels, kPanelChannels) * spec.depth;
  terms.ahead = group.weights + (is_last ? 0 : behind) * kPanelChannels;
  terms.ahead_step = spec.panels == 1 ? kPanelChannels / tiles : 0;
  for (int64_t i = block.tiles.first; i < block.tiles.last; ++i) {
    float* sums = group.sums + (i - block.tiles.first) % spec.kept_tiles * spec.panels * kTileFloats;
    convolve_tile(spec, group, rows.tile(i), block, terms, sums);
    terms.ahead += block.elements() * terms.ahead_step;
  }
}

// Part by part of the sums, so that what is read of the input or of the weights stays in the first level cache.
void convolve_parts(const PositionsSpec& spec, const SummedGroup& group, const Rows& rows, Range tiles, Range panels) {
  const int64_t parts = quotient_up(spec.depth, kPartDepth);
  for (int64_t p = 0; p < parts; ++p)
    convolve_block(spec, group, rows, {tiles, panels, {p * spec.depth / parts, (p + 1) * spec.depth / parts}});
}

void convolve_blocks(const PositionsSpec& spec, const SummedGroup& group, const Rows& rows, Range tiles, Range panels) {
  for (int64_t panel = panels.first; panel < panels.last; panel += spec.panels) {
    const Range some_panels{panel, least(panel + spec.panels, panels.last)};
    for (int64_t tile = tiles.first; tile < tiles.last; tile += spec.tiles)
      convolve_parts(spec, group, rows, {tile, least(tile + spec.tiles, tiles.last)}, some_panels);
  }
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const PositionsSpec*>(specification);
  const Operands operands = operands_of(spec, addresses);
  const Rows rows(spec);
  const int64_t panels = spec.all_panels;
  auto* sums = static_cast<float*>(*operands.more);
  const bool by_panels = panels > rows.count();
  for_each_group(spec, operands.in, operands.layout, by_panels ? panels : rows.count(),
                 [&](int64_t i, const float* in, Range some, int64_t part) {
                   const SummedGroup group{group_of(spec, operands, i, in, panels * spec.depth * kPanelChannels),
                                           sums + part * spec.kept_tiles * spec.panels * kTileFloats};
                   by_panels ? convolve_blocks(spec, group, rows, {0, rows.count()}, some)
                             : convolve_blocks(spec, group, rows, some, {0, panels});
                 });
  return true;
}

}  // namespace

const PositionsKernels positions_kernels{convolve};

}  // namespace stator::CPU_CAPABILITY
