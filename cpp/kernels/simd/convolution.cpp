// Convolution: convolution.h says what it computes. Compiled once per CPU capability.
#include "kernels/convolution.h"

#include "kernels/simd/share.h"
#include "kernels/simd/windows.h"

namespace stator::CPU_CAPABILITY {

extern const ConvolutionKernels convolution_kernels;

namespace {

constexpr int64_t kBlock = kConvolutionBlock;
// With three vectors of positions: as many sums as registers have room for.
constexpr int kTileRows = kWidth == 16 ? 8 : 4;
// Input, or weights, of so many bytes stay in the second level cache.
constexpr int64_t kRoomBeside = 64 * 1024;

// One group of one image.
struct Group {
  const float *in, *weights, *bias;
  const int64_t* offsets;
  float* out;
};

template <int kRows, int kVectors, bool kPartly>
STATOR_INLINE void sum_up(const Group& group, const float* weights, int64_t depth, const Tile& tile,
                          Lanes (&sums)[kRows * kVectors]) {
  const Part part(kPartly ? tile.last : kWidth);
  const float* in = group.in + tile.position;
  each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) { sums[i.value] = Lanes{}; });
  for (int64_t k = 0; k < depth; ++k, weights += kBlock) {
    const float* from = in + group.offsets[k];
    Lanes right[kVectors];
    each<kVectors>([&](auto v) __attribute__((always_inline)) {
      const float* at = from + v.value * kWidth;
      right[v.value] = kPartly && v.value == kVectors - 1 ? part.load(at) : load(at);
    });
    each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
      sums[i.value] = fused(all_lanes(weights[i.value / kVectors]), right[i.value % kVectors], sums[i.value]);
    });
  }
}

template <int kRows, int kVectors, bool kPartly>
void convolve_tile(const ConvolutionSpec& spec, const Group& group, int64_t channel, const Tile& tile) {
  const float* weights = group.weights + channel / kBlock * spec.depth * kBlock + channel % kBlock;
  Lanes sums[kRows * kVectors];
  sum_up<kRows, kVectors, kPartly>(group, weights, spec.depth, tile, sums);
  each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    if (group.bias) sums[i.value] += all_lanes(group.bias[channel + i.value / kVectors]);
    if (spec.relu) sums[i.value] = relu_of(sums[i.value]);
  });
  float* out = group.out + channel * spec.out_channel;
  if (tile.out >= 0) {
    const Part part(tile.last);
    each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
      constexpr int kRow = i.value / kVectors, kVector = i.value % kVectors;
      float* to = out + kRow * spec.out_channel + tile.out + kVector * kWidth;
      kVector == kVectors - 1 ? part.store(sums[i.value], to) : store(sums[i.value], to);
    });
    return;
  }
  float rows[kRows][(kVectors + 1) * kWidth];  // whole vectors are read of what is left
  each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    store(sums[i.value], rows[i.value / kVectors] + i.value % kVectors * kWidth);
  });
  put_rows<kRows, kVectors>(spec, rows, tile, out);
}

// Beyond the last element of the input there may be nothing to read.
template <int kRows, int kVectors>
void convolve_tile(const ConvolutionSpec& spec, const Group& group, int64_t channel, const Tile& tile) {
  const bool whole = spec.lays_out || tile.last == kWidth;
  whole ? convolve_tile<kRows, kVectors, false>(spec, group, channel, tile)
        : convolve_tile<kRows, kVectors, true>(spec, group, channel, tile);
}

template <int kRows>
void convolve_rows(const ConvolutionSpec& spec, const Group& group, int64_t channel, const Tile& tile) {
  switch (tile.count) {
    case 1:
      return convolve_tile<kRows, 1>(spec, group, channel, tile);
    case 2:
      return convolve_tile<kRows, 2>(spec, group, channel, tile);
    default:
      return convolve_tile<kRows, 3>(spec, group, channel, tile);
  }
}

// All output channels of a block.
void convolve_block(const ConvolutionSpec& spec, const Group& group, int64_t block, const Tile& tile) {
  int64_t channel = block * kBlock, rows = least(kBlock, spec.out_channels - channel);
  const auto take = [&](auto count) {
    while (rows >= count.value) {
      convolve_rows<count.value>(spec, group, channel, tile);
      channel += count.value;
      rows -= count.value;
    }
  };
  if (rows == kBlock && tile.count == 1) return convolve_tile<kBlock, 1>(spec, group, channel, tile);
  take(Index<kTileRows>{});
  if (kTileRows > 4) take(Index<4>{});
  take(Index<2>{});
  take(Index<1>{});
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

// All ---------------------------------------------------------------------------------------------------------------------

struct Operands {
  const float *in, *weights, *bias;
  const int64_t* offsets;
  float *out, *scratch;
};

Operands operands_of(const ConvolutionSpec& spec, void* const* addresses) {
  Operands operands{};
  operands.in = static_cast<const float*>(*addresses++);
  operands.weights = static_cast<const float*>(*addresses++);
  operands.offsets = static_cast<const int64_t*>(*addresses++);
  if (spec.has_bias) operands.bias = static_cast<const float*>(*addresses++);
  operands.out = static_cast<float*>(*addresses++);
  if (spec.lays_out) operands.scratch = static_cast<float*>(*addresses);
  return operands;
}

Group group_of(const ConvolutionSpec& spec, const Operands& operands, int64_t i) {
  const int64_t image = i / spec.groups, group = i - image * spec.groups;
  const int64_t blocks = quotient_up(spec.out_channels, kBlock);
  Group out{};
  out.in = operands.in + image * spec.in_image + group * spec.in_channels * spec.in_channel;
  out.weights = operands.weights + group * blocks * spec.depth * kBlock;
  if (operands.bias) out.bias = operands.bias + group * spec.out_channels;
  out.offsets = operands.offsets;
  out.out = operands.out + image * spec.out_image + group * spec.out_channels * spec.out_channel;
  return out;
}

void convolve_group(const ConvolutionSpec& spec, Group group, const Tiling& tiling, float* scratch) {
  if (spec.lays_out) {
    lay_out(spec, group.in, scratch, {0, spec.in_channels});
    group.in = scratch;
  }
  convolve_part(spec, group, tiling, {0, tiling.count()}, {0, quotient_up(spec.out_channels, kBlock)});
}

// One group by all parts: first its layout, then what is computed.
void share_group(const ConvolutionSpec& spec, Group group, const Tiling& tiling, float* scratch) {
  if (spec.lays_out) {
    share(spec.parts, spec.in_channels,
          [&](int64_t first, int64_t last) { lay_out(spec, group.in, scratch, {first, last}); });
    group.in = scratch;
  }
  const int64_t tiles = tiling.count(), blocks = quotient_up(spec.out_channels, kBlock);
  const bool by_blocks = blocks > tiles;
  share(spec.parts, by_blocks ? blocks : tiles, [&](int64_t first, int64_t last) {
    const Range all_tiles{0, tiles}, all_blocks{0, blocks}, some{first, last};
    convolve_part(spec, group, tiling, by_blocks ? all_tiles : some, by_blocks ? some : all_blocks);
  });
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ConvolutionSpec*>(specification);
  const Operands operands = operands_of(spec, addresses);
  const Tiling tiling = tiling_of(spec);
  const int64_t groups = spec.images * spec.groups;
  if (groups < spec.parts) {
    for (int64_t i = 0; i < groups; ++i) share_group(spec, group_of(spec, operands, i), tiling, operands.scratch);
    return true;
  }
  share(spec.parts, spec.parts, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      float* scratch = operands.scratch + part * spec.group_floats;
      for (int64_t i = part * groups / spec.parts; i < (part + 1) * groups / spec.parts; ++i)
        convolve_group(spec, group_of(spec, operands, i), tiling, scratch);
    }
  });
  return true;
}

}  // namespace

const ConvolutionKernels convolution_kernels{convolve};

}  // namespace stator::CPU_CAPABILITY
