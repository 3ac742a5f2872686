// What kernels for convolutions share: sums over blocks of output channels, and the order in which groups of images are taken.
// Everything here is of one file and one capability.
#pragma once

#include "kernels/convolution.h"
#include "kernels/simd/share.h"
#include "kernels/simd/windows.h"

namespace stator::CPU_CAPABILITY {
namespace {

constexpr int64_t kBlock = kConvolutionBlock;

// Output channels at so many vectors of positions: as many sums as registers have room for.
constexpr int rows_at_once(int vectors) { return kWidth == 16 || vectors == 1 ? 8 : 4; }

// How far behind the weights of `block` those lie that are wanted next: of the next block, and behind the last of the first. Never behind all: to
// ask for what is not mapped takes hundreds of cycles, each time.
STATOR_INLINE int64_t to_next_block(int64_t block, int64_t blocks, int64_t depth) {
  return (block + 1 < blocks ? 1 : -block) * depth * kBlock;
}

// sums[row][v] = bias[row], if there is one, + the sum over k of weights[k][row] right(k, v); the weights are of one block. Those that lie
// `ahead` of them are wanted next, and fetched.
template <int kRows, int kVectors, class Right>
STATOR_INLINE void sum_up(const float* bias, const float* weights, int64_t depth, int64_t ahead, const Right& right,
                          Lanes (&sums)[kRows * kVectors]) {
  each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    sums[i.value] = bias ? all_lanes(bias[i.value / kVectors]) : Lanes{};
  });
  for (int64_t k = 0; k < depth; ++k, weights += kBlock) {
    __builtin_prefetch(weights + ahead, 0, 2);
    Lanes at_k[kVectors];
    each<kVectors>([&](auto v) __attribute__((always_inline)) { at_k[v.value] = right(k, v); });
    each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
      sums[i.value] = fused(all_lanes(weights[i.value / kVectors]), at_k[i.value % kVectors], sums[i.value]);
    });
  }
}

// A right side whose vectors lie one behind the other.
template <int kVectors>
struct SideBySide {
  const float* from;
  template <class V>
  STATOR_INLINE Lanes operator()(int64_t k, V v) const {
    return load(from + (k * kVectors + v.value) * kWidth);
  }
};

// f(Index<rows>, channel) for all output channels of a block.
template <int kVectors, class F>
STATOR_INLINE void for_each_row(int64_t block, int64_t channels, const F& f) {
  constexpr int kMost = rows_at_once(kVectors);
  int64_t channel = block * kBlock, rows = least(kBlock, channels - channel);
  const auto take = [&](auto count) __attribute__((always_inline)) {
    for (; rows >= count.value; rows -= count.value, channel += count.value) f(count, channel);
  };
  take(Index<kMost>{});
  if constexpr (kMost > 4) take(Index<4>{});
  take(Index<2>{});
  take(Index<1>{});
}

// f(Index<vectors>) of a tile.
template <class F>
STATOR_INLINE void with_vectors(const Tile& tile, const F& f) {
  tile.count == 1 ? f(Index<1>{}) : tile.count == 2 ? f(Index<2>{}) : f(Index<3>{});
}

// What the kernels' addresses have in common; `more` are the others.
struct Operands {
  const float *in, *weights, *given, *bias, *addend;  // given: weights as they came, where the kernel asks for them
  const int64_t* offsets;
  float *out, *layout;
  void* const* more;
};

inline Operands operands_of(const ConvolutionSpec& spec, void* const* addresses, bool asks_for_given = false) {
  Operands operands{};
  operands.in = static_cast<const float*>(*addresses++);
  operands.weights = static_cast<const float*>(*addresses++);
  if (asks_for_given) operands.given = static_cast<const float*>(*addresses++);
  operands.offsets = static_cast<const int64_t*>(*addresses++);
  if (spec.has_bias) operands.bias = static_cast<const float*>(*addresses++);
  if (spec.has_addend) operands.addend = static_cast<const float*>(*addresses++);
  operands.out = static_cast<float*>(*addresses++);
  if (spec.lays_out) operands.layout = static_cast<float*>(*addresses++);
  operands.more = addresses;
  return operands;
}

// One group of one image.
struct Group {
  const float *in, *weights, *bias, *addend;
  const int64_t* offsets;
  float* out;
};

// Group i of all images, which has so many packed weights.
inline Group group_of(const ConvolutionSpec& spec, const Operands& operands, int64_t i, const float* in,
                      int64_t weights) {
  const int64_t image = i / spec.groups, group = i - image * spec.groups;
  Group out{};
  out.in = in;
  out.weights = operands.weights + group * weights;
  if (operands.bias) out.bias = operands.bias + group * spec.out_channels;
  out.offsets = operands.offsets;
  const int64_t first = image * spec.out_image + group * spec.out_channels * spec.out_channel;
  if (operands.addend) out.addend = operands.addend + first;
  out.out = operands.out + first;
  return out;
}

// Results that are not complete yet, whole vectors of which are read, to `place`: with the addend, then clamped.
STATOR_INLINE void put_added(const ConvolutionSpec& spec, const Group& group, const float* from, int64_t count,
                             int64_t place) {
  const float* addend = group.addend + place;
  float* to = group.out + place;
  const auto complete = [&](Lanes sum) { return spec.clamps ? clamped(sum, spec.least, spec.most) : sum; };
  for (; count > kWidth; count -= kWidth, from += kWidth, addend += kWidth, to += kWidth)
    store(complete(load(from) + load(addend)), to);
  const Part part(count);
  part.store(complete(load(from) + part.load(addend)), to);
}

// f(i, input, pieces, part) for group i of all images, its input laid out in `scratch` if the specification says so. Each group has so many
// pieces, which parts share if there are fewer groups than parts.
template <class F>
void for_each_group(const ConvolutionSpec& spec, const float* input, float* scratch, int64_t pieces, const F& f) {
  const int64_t groups = spec.images * spec.groups, parts = spec.parts;
  const auto input_of = [&](int64_t i) {
    return input + i / spec.groups * spec.in_image + i % spec.groups * spec.in_channels * spec.in_channel;
  };
  if (groups < parts) {
    for (int64_t i = 0; i < groups; ++i) {
      const float* in = input_of(i);
      if (spec.lays_out) {
        share(parts, spec.in_channels, [&](int64_t first, int64_t last) { lay_out(spec, in, scratch, {first, last}); });
      }
      share(parts, parts, [&](int64_t part, int64_t end) {
        for (; part < end; ++part) {
          const Range some{part * pieces / parts, (part + 1) * pieces / parts};
          if (some.first < some.last) f(i, spec.lays_out ? scratch : in, some, part);
        }
      });
    }
    return;
  }
  share(parts, parts, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) {
      float* laid_out = scratch + part * spec.group_floats;
      for (int64_t i = part * groups / parts; i < (part + 1) * groups / parts; ++i) {
        if (spec.lays_out) lay_out(spec, input_of(i), laid_out, {0, spec.in_channels});
        f(i, spec.lays_out ? laid_out : input_of(i), Range{0, pieces}, part);
      }
    }
  });
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
