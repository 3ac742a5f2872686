// Convolutions of single channels where rows are too short for vectors of columns: eight channels lie side by side in a vector, and each
// position is computed for all of them. Sums are in the order of those of columns, so they are the same numbers. Vectors of sixteen columns are
// filled well enough by fewer images: with AVX-512, too, eight channels are taken, where rows fill less than half of such a vector, or take two
// to fill one because of their stride.
#pragma once

#include <cmath>

#include "kernels/depthwise.h"
#include "kernels/simd/lanes.h"

namespace stator::CPU_CAPABILITY {
namespace {

// Of an image, from one of its channels on.
struct ChannelAddresses {
  const float *in, *weights, *bias;  // bias: NULL for none
  float* out;
};

constexpr int64_t kChannelsTogether = 8;

#if !defined(CPU_CAPABILITY_AVX2) && !defined(CPU_CAPABILITY_AVX512)

constexpr bool goes_side_by_side(const DepthwiseSpec&) { return false; }
template <int kSize, int kStride>
constexpr void (*convolve_together)(const DepthwiseSpec&, const ChannelAddresses&) = nullptr;

#else

// A number of each of eight channels.
using Eight = float __attribute__((vector_size(kChannelsTogether * sizeof(float))));

STATOR_INLINE Eight load_eight(const float* from) {
  Eight value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
STATOR_INLINE void store_eight(Eight value, float* to) { __builtin_memcpy(to, &value, sizeof(value)); }
STATOR_INLINE Eight fused_eight(Eight a, Eight b, Eight c) { return _mm256_fmadd_ps(a, b, c); }

// A NaN stays.
STATOR_INLINE Eight clamped_eight(Eight value, float least, float most) {
  const Eight low = least - Eight{}, high = most - Eight{};
  value = value < low ? low : value;
  return value > high ? high : value;
}

// Of an image with zeros around, and of results, while channels lie side by side: a first level cache each.
constexpr int64_t kMostPositions = 1024;
constexpr int64_t kPositionsAtOnce = 6;

// Rows of results that are computed from one layout.
constexpr int64_t rows_side_by_side(const DepthwiseSpec& spec) {
  const int64_t rows = kMostPositions / ((spec.out_columns - 1) * spec.stride + spec.size);
  return rows < spec.size ? 0 : (rows - spec.size) / spec.stride + 1;
}

constexpr bool goes_side_by_side(const DepthwiseSpec& spec) {
  constexpr int64_t kLeastRows = 2;  // or what they share is laid out too often
  // Longer rows fill vectors; of every other column they take two for one.
#if defined(CPU_CAPABILITY_AVX512)
  const int64_t most = spec.stride == 1 ? 7 : 16;
#else
  const int64_t most = spec.stride == 1 ? 32 : 64;
#endif
  return spec.out_columns <= most && spec.out_row == spec.out_columns && spec.in_row == spec.in_columns &&
         rows_side_by_side(spec) >= least(kLeastRows, spec.out_rows);
}

// Numbers of eight channels, `count` of each, one channel after another; `to(i)` says where those of position i are to lie.
template <class To>
void lay_side_by_side(const float* from, int64_t channel, int64_t count, const To& to) {
  float eight[8 * kChannelsTogether];
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    transpose_8x8(from + i, channel, eight, kChannelsTogether);
    for (int64_t j = 0; j < 8; ++j) store_eight(load_eight(eight + j * kChannelsTogether), to(i + j));
  }
  for (; i < count; ++i) {
    float* const place = to(i);
    for (int64_t c = 0; c < kChannelsTogether; ++c) place[c] = from[c * channel + i];
  }
}

// The way back, of eight channels among so many lanes.
inline void lay_apart(const float* from, int64_t lanes, int64_t count, float* to, int64_t channel) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) transpose_8x8(from + i * lanes, lanes, to + i, channel);
  for (; i < count; ++i) {
    for (int64_t c = 0; c < kChannelsTogether; ++c) to[c * channel + i] = from[i * lanes + c];
  }
}

// Windows that begin at these places, one beside the other.
template <int kSize>
STATOR_INLINE void sum_windows(const float* const (&windows)[kPositionsAtOnce], int64_t row, const float* weights,
                               Eight (&sums)[kPositionsAtOnce]) {
  each<kSize>([&](auto y) __attribute__((always_inline)) {
    each<kSize>([&](auto x) __attribute__((always_inline)) {
      const Eight weight = load_eight(weights + (y.value * kSize + x.value) * kChannelsTogether);
      each<kPositionsAtOnce>([&](auto i) __attribute__((always_inline)) {
        sums[i.value] = fused_eight(weight, load_eight(windows[i.value] + y.value * row + x.value * kChannelsTogether),
                                    sums[i.value]);
      });
    });
  });
}

template <int kSize, int kStride>
class SideBySide {
 public:
  SideBySide(const DepthwiseSpec& spec, const ChannelAddresses& channels)
      : spec_(spec), channels_(channels), row_(((spec.out_columns - 1) * kStride + kSize) * kChannelsTogether) {
    for (int64_t c = 0; c < kChannelsTogether; ++c) {
      for (int64_t i = 0; i < kSize * kSize; ++i)
        weights_[i * kChannelsTogether + c] = channels.weights[c * kSize * kSize + i];
    }
  }

  void convolve() {
    const int64_t most = rows_side_by_side(spec_);
    for (int64_t y = 0; y < spec_.out_rows; y += most) {
      const int64_t rows = least(most, spec_.out_rows - y);
      lay_out(y, rows);
      sum(rows);
      lay_apart(results_, kChannelsTogether, rows * spec_.out_columns, channels_.out + y * spec_.out_row,
                spec_.out_channel);
    }
  }

 private:
  // The rows of the input that results of these rows are made of.
  void lay_out(int64_t y, int64_t rows) {
    const int64_t top = y * kStride - spec_.rows_before, height = (rows - 1) * kStride + kSize;
    const int64_t first = top < 0 ? 0 : top, end = least(top + height, spec_.in_rows);
    for (int64_t i = 0; i < height * row_; i += kChannelsTogether) store_eight(Eight{}, image_ + i);
    // Columns that no window reaches come to lie behind the image.
    const int64_t columns = row_ / kChannelsTogether;
    int64_t r = first - top, x = spec_.columns_before;
    lay_side_by_side(channels_.in + first * spec_.in_row, spec_.in_channel, (end - first) * spec_.in_columns,
                     [&](int64_t) {
                       float* const place = x < columns ? image_ + r * row_ + x * kChannelsTogether : unread_;
                       if (++x == spec_.columns_before + spec_.in_columns) ++r, x = spec_.columns_before;
                       return place;
                     });
  }

  void sum(int64_t rows) {
    const int64_t count = rows * spec_.out_columns;
    const Eight bias = channels_.bias ? load_eight(channels_.bias) : Eight{};
    const float lowest = spec_.clamps ? spec_.least : -INFINITY, highest = spec_.clamps ? spec_.most : INFINITY;
    const float* window = image_;
    for (int64_t first = 0, x = 0; first < count; first += kPositionsAtOnce) {
      const float* windows[kPositionsAtOnce];
      for (int64_t i = 0; i < kPositionsAtOnce; ++i) {
        windows[i] = window;
        if (first + i + 1 >= count) continue;
        window += kStride * kChannelsTogether;
        if (++x == spec_.out_columns) window += kStride * row_ - x * kStride * kChannelsTogether, x = 0;
      }
      Eight sums[kPositionsAtOnce];
      for (Eight& sum : sums) sum = bias;
      sum_windows<kSize>(windows, row_, weights_, sums);
      for (int64_t i = 0; i < kPositionsAtOnce; ++i)
        store_eight(clamped_eight(sums[i], lowest, highest), results_ + (first + i) * kChannelsTogether);
    }
  }

  const DepthwiseSpec& spec_;
  const ChannelAddresses& channels_;
  const int64_t row_;  // floats
  alignas(32) float weights_[kSize * kSize * kChannelsTogether];
  alignas(32) float image_[kMostPositions * kChannelsTogether];
  alignas(32) float results_[(kMostPositions + kPositionsAtOnce) * kChannelsTogether];
  float unread_[kChannelsTogether];
};

template <int kSize, int kStride>
void convolve_together(const DepthwiseSpec& spec, const ChannelAddresses& channels) {
  SideBySide<kSize, kStride>(spec, channels).convolve();
}

#endif

}  // namespace
}  // namespace stator::CPU_CAPABILITY
