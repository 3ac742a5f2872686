// The last position of a convolution, where it is left alone beyond those that fill vectors, as in every square of an odd number: as many output
// channels as a vector has room for are computed for it, in place of as many positions. Only with vectors of as many lanes as blocks have channels.
#pragma once

#include "kernels/simd/convolution_tiles.h"

namespace stator::CPU_CAPABILITY {
namespace {

#if !defined(CPU_CAPABILITY_AVX2)

constexpr int64_t left_alone(const ConvolutionSpec&) { return 0; }
inline void convolve_alone(const ConvolutionSpec&, const Group&, Range, float*) {}

#else

// How many: 0 or 1.
inline int64_t left_alone(const ConvolutionSpec& spec) {
  const int64_t positions = spec.out_rows * spec.out_columns;
  return spec.packs && positions > kWidth && positions % kWidth == 1 && spec.depth <= kPanelFloats;
}

// Sums of so many blocks, of which those beyond the last are the last one again.
template <int kBlocks>
STATOR_INLINE void sum_up_alone(const float* (&weights)[kBlocks], const float* elements, int64_t depth,
                                Lanes (&sums)[kBlocks]) {
  Lanes halves[kBlocks][2] = {};
  int64_t k = 0;
  for (; k + 2 <= depth; k += 2) {
    const Lanes even = all_lanes(elements[k]), odd = all_lanes(elements[k + 1]);
    each<kBlocks>([&](auto b) __attribute__((always_inline)) {
      halves[b.value][0] = fused(even, load(weights[b.value] + k * kBlock), halves[b.value][0]);
      halves[b.value][1] = fused(odd, load(weights[b.value] + (k + 1) * kBlock), halves[b.value][1]);
    });
  }
  each<kBlocks>([&](auto b) __attribute__((always_inline)) {
    if (k < depth)
      halves[b.value][0] = fused(all_lanes(elements[k]), load(weights[b.value] + k * kBlock), halves[b.value][0]);
    sums[b.value] += halves[b.value][0] + halves[b.value][1];
    weights[b.value] += depth * kBlock;
  });
}

inline void complete_alone(const ConvolutionSpec& spec, const Group& group, int64_t position, int64_t block,
                           Lanes sum) {
  const int64_t channel = block * kBlock, count = least(kBlock, spec.out_channels - channel);
  float results[kBlock];
  if (group.bias) sum += Part(count).load(group.bias + channel);
  store(sum, results);
  const int64_t first = channel * spec.out_channel + position;
  if (group.addend)
    for (int64_t c = 0; c < count; ++c) results[c] += group.addend[first + c * spec.out_channel];
  if (spec.clamps) store(clamped(load(results), spec.least, spec.most), results);
  for (int64_t c = 0; c < count; ++c) group.out[first + c * spec.out_channel] = results[c];
}

// `elements`: room for kPanelFloats.
inline void convolve_alone(const ConvolutionSpec& spec, const Group& group, Range blocks, float* elements) {
  constexpr int kBlocks = 4;
  const int64_t row = spec.out_rows - 1, position = spec.out_rows * spec.out_columns - 1;
  const float* in = group.in + row * spec.row + spec.out_columns - 1;
  for (int64_t k = 0; k < spec.depth; ++k) elements[k] = in[group.offsets[k]];
  const int64_t parts = quotient_up(spec.depth, kPanelDepth);
  for (int64_t block = blocks.first; block < blocks.last; block += kBlocks) {
    const float* weights[kBlocks];
    for (int64_t b = 0; b < kBlocks; ++b)
      weights[b] = group.weights + least(block + b, blocks.last - 1) * spec.depth * kBlock;
    Lanes sums[kBlocks] = {};
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t first = p * spec.depth / parts, end = (p + 1) * spec.depth / parts;
      sum_up_alone(weights, elements + first, end - first, sums);
    }
    for (int64_t b = 0; b < kBlocks && block + b < blocks.last; ++b)
      complete_alone(spec, group, position, block + b, sums[b]);
  }
}

#endif

}  // namespace
}  // namespace stator::CPU_CAPABILITY
