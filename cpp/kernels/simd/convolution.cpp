// Convolution: convolution.h says what it computes. Compiled once per CPU capability.
#include "kernels/convolution.h"

#include "kernels/simd/convolution_tiles.h"
#include "kernels/simd/position_alone.h"

namespace stator::CPU_CAPABILITY {

extern const ConvolutionKernels convolution_kernels;

namespace {

// Input, or weights, of so many bytes stay in the second level cache.
constexpr int64_t kRoomBeside = 64 * 1024;
constexpr int64_t kRoomForResults = 64 * 1024;  // floats

// What becomes of sums whose results are neighbours, the first of them at `out`. A value, so that it stays in registers: what is behind a reference
// is read again after each store.
struct Completion {
  float* out;
  int64_t out_channel;
  const float *before, *addend;  // to be added, before what is there from an earlier part of the sums; NULL for nothing
  bool clamps;
  float least, most;
};

// All of the last vector of a tile.
struct Whole {
  STATOR_INLINE Lanes load(const float* from) const { return CPU_CAPABILITY::load(from); }
  STATOR_INLINE void store(Lanes value, float* to) const { CPU_CAPABILITY::store(value, to); }
};

template <int kRows, int kVectors, class LastVector>
STATOR_INLINE void complete_with(const LastVector last, const Completion completion, Lanes (&sums)[kRows * kVectors]) {
  const int64_t out_channel = completion.out_channel;
  const auto for_each_sum = [&](const auto& f) __attribute__((always_inline)) {
    each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
      constexpr int kVector = i.value % kVectors;
      f(sums[i.value], i.value / kVectors * out_channel + kVector * kWidth, Index<kVector == kVectors - 1>{});
    });
  };
  const auto add = [&](const float* from) __attribute__((always_inline)) {
    for_each_sum([&](Lanes& sum, int64_t at, auto is_last)
                     __attribute__((always_inline)) { sum += is_last.value ? last.load(from + at) : load(from + at); });
  };
  if (completion.before) add(completion.before);
  if (completion.addend) add(completion.addend);
  if (completion.clamps) {
    for_each_sum([&](Lanes& sum, int64_t, auto)
                     __attribute__((always_inline)) { sum = clamped(sum, completion.least, completion.most); });
  }
  for_each_sum([&](Lanes sum, int64_t at, auto is_last) __attribute__((always_inline)) {
    is_last.value ? last.store(sum, completion.out + at) : store(sum, completion.out + at);
  });
}

template <int kRows, int kVectors>
STATOR_INLINE void complete(const Completion& completion, const Tile& tile, Lanes (&sums)[kRows * kVectors]) {
  tile.last == kWidth ? complete_with<kRows, kVectors>(Whole{}, completion, sums)
                      : complete_with<kRows, kVectors>(Part(tile.last), completion, sums);
}

// From the input as it lies ----------------------------------------------------------------------------------------------

template <int kVectors, bool kPartly>
struct FromInput {
  const float* in;
  const int64_t* offsets;
  Part part;

  template <class V>
  STATOR_INLINE Lanes operator()(int64_t k, V v) const {
    const float* at = in + offsets[k] + v.value * kWidth;
    return kPartly && v.value == kVectors - 1 ? part.load(at) : load(at);
  }
};

// Among those of a tile are positions between rows.
template <int kRows, int kVectors>
STATOR_INLINE void finish_by_rows(const ConvolutionSpec& spec, const Group& group, int64_t place, const Tile& tile,
                                  const Lanes (&sums)[kRows * kVectors]) {
  const bool clamps = spec.clamps && !group.addend;
  TileRows<kRows, kVectors> rows;
  each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    const Lanes sum = clamps ? clamped(sums[i.value], spec.least, spec.most) : sums[i.value];
    store(sum, rows[i.value / kVectors] + i.value % kVectors * kWidth);
  });
  if (!group.addend) return put_rows<kRows, kVectors>(spec, rows, tile, group.out + place);
  for_each_row_of<kVectors>(spec, tile, [&](int64_t at, int64_t to, int64_t count) {
    for (int r = 0; r < kRows; ++r) put_added(spec, group, rows[r] + at, count, place + r * spec.out_channel + to);
  });
}

int64_t to_next_weights(const ConvolutionSpec& spec, int64_t channel) {
  return to_next_block(channel / kBlock, quotient_up(spec.out_channels, kBlock), spec.depth);
}

template <int kRows, int kVectors, bool kPartly>
void convolve_tile(const ConvolutionSpec& spec, const Group& group, int64_t channel, const Tile& tile) {
  const float* weights = group.weights + channel / kBlock * spec.depth * kBlock + channel % kBlock;
  const FromInput<kVectors, kPartly> right{group.in + tile.position, group.offsets, Part(kPartly ? tile.last : kWidth)};
  Lanes sums[kRows * kVectors];
  const float* bias = group.bias ? group.bias + channel : nullptr;
  sum_up<kRows, kVectors>(bias, weights, spec.depth, to_next_weights(spec, channel), right, sums);
  const int64_t first = channel * spec.out_channel, place = first + tile.out;
  if (tile.out < 0) return finish_by_rows<kRows, kVectors>(spec, group, first, tile, sums);
  const float* addend = group.addend ? group.addend + place : nullptr;
  complete<kRows, kVectors>({group.out + place, spec.out_channel, nullptr, addend, spec.clamps, spec.least, spec.most},
                            tile, sums);
}

// Whether whole vectors can be read at a tile's positions: there may be nothing beyond the last element of the input.
bool can_read_beyond(const ConvolutionSpec& spec, const Tile& tile) {
  const int64_t end = (spec.out_rows - 1) * spec.row + spec.out_columns;
  return spec.lays_out || tile.last == kWidth || tile.position + tile.count * kWidth <= end;
}

// All output channels of a block.
void convolve_block(const ConvolutionSpec& spec, const Group& group, int64_t block, const Tile& tile) {
  const bool whole = can_read_beyond(spec, tile);
  with_vectors(tile, [&](auto vectors) {
    for_each_row<vectors.value>(block, spec.out_channels, [&](auto rows, int64_t channel) {
      whole ? convolve_tile<rows.value, vectors.value, false>(spec, group, channel, tile)
            : convolve_tile<rows.value, vectors.value, true>(spec, group, channel, tile);
    });
  });
}

// What is read again and again is to be the smaller thing, or what fits beside the other.
void convolve_part(const ConvolutionSpec& spec, const Group& group, const Tiling& tiling, Range tiles, Range blocks) {
  const int64_t weights = spec.depth * spec.out_channels,
                inputs = spec.in_channels * tiling.count() * kMostVectors * kWidth;
  const int64_t most = kRoomBeside / static_cast<int64_t>(sizeof(float));
  const bool tiles_inside =
      inputs <= most || (weights > most && weights * tiling.count() > inputs * (spec.out_channels / kBlock + 1));
  if (tiles_inside) {
    for (int64_t block = blocks.first; block < blocks.last; ++block) {
      for (int64_t i = tiles.first; i < tiles.last; ++i) convolve_block(spec, group, block, tiling.tile(i));
    }
  } else {
    for (int64_t i = tiles.first; i < tiles.last; ++i) {
      const Tile tile = tiling.tile(i);
      for (int64_t block = blocks.first; block < blocks.last; ++block) convolve_block(spec, group, block, tile);
    }
  }
}

// From panels -------------------------------------------------------------------------------------------------------------

// A part of the sums at the positions of a tile, whose elements lie side by side in `panel`.
struct PartialSum {
  const float* panel;
  Range depth;
  bool is_last;
};

template <int kRows, int kVectors>
void add_tile(const ConvolutionSpec& spec, const Group& group, int64_t channel, const Tile& tile,
              const PartialSum& partial) {
  const auto [first, last] = partial.depth;
  const float* weights = group.weights + (channel / kBlock * spec.depth + first) * kBlock + channel % kBlock;
  Lanes sums[kRows * kVectors];
  const float* bias = group.bias && first == 0 ? group.bias + channel : nullptr;
  sum_up<kRows, kVectors>(bias, weights, last - first, to_next_weights(spec, channel),
                          SideBySide<kVectors>{partial.panel}, sums);
  const int64_t place = channel * spec.out_channel + tile.position;
  float* const out = group.out + place;
  const float* addend = partial.is_last && group.addend ? group.addend + place : nullptr;
  complete<kRows, kVectors>(
      {out, spec.out_channel, first > 0 ? out : nullptr, addend, spec.clamps && partial.is_last, spec.least, spec.most},
      tile, sums);
}

void pack(const ConvolutionSpec& spec, const Group& group, const Tile& tile, Range depth, float* panel) {
  const bool as_one = spec.row == spec.out_columns || spec.out_rows == 1;
  const int64_t columns = as_one ? spec.out_rows * spec.out_columns : spec.out_columns;
  const Segments segments(tile.position, (tile.count - 1) * kWidth + tile.last, columns, columns);
  for (int64_t k = depth.first; k < depth.last; ++k, panel += tile.count * kWidth)
    gather(segments, spec.row, group.in + group.offsets[k], spec.lays_out, panel);
}

// As many tiles as have results for which there is room in the second level cache beside the weights of a part of the sums.
int64_t tiles_at_once(const ConvolutionSpec& spec) {
  const int64_t results = spec.out_channels * kMostVectors * kWidth;
  return results < kRoomForResults ? kRoomForResults / results : 1;
}

// Part by part of the sums, so that a panel stays in the first level cache, and the weights that it meets in the second.
void convolve_packed(const ConvolutionSpec& spec, const Group& group, const Tiling& tiling, Range tiles, Range blocks,
                     float* panel) {
  const int64_t parts = quotient_up(spec.depth, kPanelDepth), step = tiles_at_once(spec);
  for (int64_t first = tiles.first; first < tiles.last; first += step) {
    for (int64_t p = 0; p < parts; ++p) {
      const PartialSum partial{panel, {p * spec.depth / parts, (p + 1) * spec.depth / parts}, p + 1 == parts};
      for (int64_t i = first; i < least(first + step, tiles.last); ++i) {
        const Tile tile = tiling.tile(i);
        pack(spec, group, tile, partial.depth, panel);
        for (int64_t block = blocks.first; block < blocks.last; ++block) {
          with_vectors(tile, [&](auto vectors) {
            for_each_row<vectors.value>(block, spec.out_channels, [&](auto rows, int64_t channel) {
              add_tile<rows.value, vectors.value>(spec, group, channel, tile, partial);
            });
          });
        }
      }
    }
  }
}

// All ---------------------------------------------------------------------------------------------------------------------

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ConvolutionSpec*>(specification);
  const Operands operands = operands_of(spec, addresses);
  const int64_t alone = left_alone(spec);
  const Tiling tiling = spec.packs ? Tiling(1, spec.out_rows * spec.out_columns - alone, 0, 0, true) : tiling_of(spec);
  const int64_t blocks = quotient_up(spec.out_channels, kBlock);
  const bool by_blocks = blocks > tiling.count();
  auto* panels = spec.packs ? static_cast<float*>(*operands.more) : nullptr;
  for_each_group(spec, operands.in, operands.layout, by_blocks ? blocks : tiling.count(),
                 [&](int64_t i, const float* in, Range some, int64_t part) {
                   const Group group = group_of(spec, operands, i, in, blocks * spec.depth * kBlock);
                   const Range all_tiles{0, tiling.count()}, all_blocks{0, blocks};
                   const Range tiles = by_blocks ? all_tiles : some, these = by_blocks ? some : all_blocks;
                   if (!spec.packs) return convolve_part(spec, group, tiling, tiles, these);
                   float* const panel = panels + part * kPanelFloats;
                   convolve_packed(spec, group, tiling, tiles, these, panel);
                   if (alone > 0 && tiles.last == tiling.count()) convolve_alone(spec, group, these, panel);
                 });
  return true;
}

bool lay_out_input(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ConvolutionSpec*>(specification);
  lay_out(spec, static_cast<const float*>(addresses[0]), static_cast<float*>(addresses[1]), {0, spec.in_channels});
  return true;
}

}  // namespace

const ConvolutionKernels convolution_kernels{convolve, lay_out_input};

}  // namespace stator::CPU_CAPABILITY
