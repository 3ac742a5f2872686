// Convolutions of single channels where rows are too short for vectors of columns: eight channels lie side by side in a vector, and each
// position is computed for all of them. Sums are in the order of those of columns, so they are the same numbers. With AVX2 only: where vectors
// are twice as long, the images that gain are so small that laying them out takes what is gained.
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

#if !defined(CPU_CAPABILITY_AVX2)

constexpr bool goes_side_by_side(const DepthwiseSpec&) { return false; }
template <int kSize, int kStride>
constexpr void (*convolve_together)(const DepthwiseSpec&, const ChannelAddresses&) = nullptr;

#else

static_assert(kWidth == kChannelsTogether);
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
  const int64_t most =
      spec.stride == 1 ? 32 : 64;  // longer rows fill vectors; of every other column they take two for one
  return spec.out_columns <= most && spec.out_row == spec.out_columns && spec.in_row == spec.in_columns &&
         rows_side_by_side(spec) >= least(kLeastRows, spec.out_rows);
}

// Numbers of eight channels, `count` of each, one channel after another; `to(i)` says where those of position i are to lie.
template <class To>
void lay_side_by_side(const float* from, int64_t channel, int64_t count, const To& to) {
  float eight[8 * kWidth];
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    transpose_8x8(from + i, channel, eight, kWidth);
    for (int64_t j = 0; j < 8; ++j) store(load(eight + j * kWidth), to(i + j));
  }
  for (; i < count; ++i) {
    float* const place = to(i);
    for (int64_t c = 0; c < kWidth; ++c) place[c] = from[c * channel + i];
  }
}

// The way back.
inline void lay_apart(const float* from, int64_t count, float* to, int64_t channel) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) transpose_8x8(from + i * kWidth, kWidth, to + i, channel);
  for (; i < count; ++i) {
    for (int64_t c = 0; c < kWidth; ++c) to[c * channel + i] = from[i * kWidth + c];
  }
}

// Windows that begin at these places, one beside the other.
template <int kSize>
STATOR_INLINE void sum_windows(const float* const (&windows)[kPositionsAtOnce], int64_t row, const float* weights,
                               Lanes (&sums)[kPositionsAtOnce]) {
  each<kSize>([&](auto y) __attribute__((always_inline)) {
    each<kSize>([&](auto x) __attribute__((always_inline)) {
      const Lanes weight = load(weights + (y.value * kSize + x.value) * kWidth);
      each<kPositionsAtOnce>([&](auto i) __attribute__((always_inline)) {
        sums[i.value] = fused(weight, load(windows[i.value] + y.value * row + x.value * kWidth), sums[i.value]);
      });
    });
  });
}

template <int kSize, int kStride>
class SideBySide {
 public:
  SideBySide(const DepthwiseSpec& spec, const ChannelAddresses& channels)
      : spec_(spec), channels_(channels), row_(((spec.out_columns - 1) * kStride + kSize) * kWidth) {
    for (int64_t c = 0; c < kWidth; ++c) {
      for (int64_t i = 0; i < kSize * kSize; ++i) weights_[i * kWidth + c] = channels.weights[c * kSize * kSize + i];
    }
  }

  void convolve() {
    const int64_t most = rows_side_by_side(spec_);
    for (int64_t y = 0; y < spec_.out_rows; y += most) {
      const int64_t rows = least(most, spec_.out_rows - y);
      lay_out(y, rows);
      sum(rows);
      lay_apart(results_, rows * spec_.out_columns, channels_.out + y * spec_.out_row, spec_.out_channel);
    }
  }

 private:
  // The rows of the input that results of these rows are made of.
  void lay_out(int64_t y, int64_t rows) {
    const int64_t top = y * kStride - spec_.rows_before, height = (rows - 1) * kStride + kSize;
    const int64_t first = top < 0 ? 0 : top, end = least(top + height, spec_.in_rows);
    for (int64_t i = 0; i < height * row_; i += kWidth) store(Lanes{}, image_ + i);
    // Columns that no window reaches come to lie behind the image.
    const int64_t columns = row_ / kWidth;
    int64_t r = first - top, x = spec_.columns_before;
    lay_side_by_side(channels_.in + first * spec_.in_row, spec_.in_channel, (end - first) * spec_.in_columns,
                     [&](int64_t) {
                       float* const place = x < columns ? image_ + r * row_ + x * kWidth : unread_;
                       if (++x == spec_.columns_before + spec_.in_columns) ++r, x = spec_.columns_before;
                       return place;
                     });
  }

  void sum(int64_t rows) {
    const int64_t count = rows * spec_.out_columns;
    const Lanes bias = channels_.bias ? load(channels_.bias) : Lanes{};
    const float lowest = spec_.clamps ? spec_.least : -INFINITY, highest = spec_.clamps ? spec_.most : INFINITY;
    const float* window = image_;
    for (int64_t first = 0, x = 0; first < count; first += kPositionsAtOnce) {
      const float* windows[kPositionsAtOnce];
      for (int64_t i = 0; i < kPositionsAtOnce; ++i) {
        windows[i] = window;
        if (first + i + 1 >= count) continue;
        window += kStride * kWidth;
        if (++x == spec_.out_columns) window += kStride * row_ - x * kStride * kWidth, x = 0;
      }
      Lanes sums[kPositionsAtOnce];
      for (Lanes& sum : sums) sum = bias;
      sum_windows<kSize>(windows, row_, weights_, sums);
      for (int64_t i = 0; i < kPositionsAtOnce; ++i)
        store(clamped(sums[i], lowest, highest), results_ + (first + i) * kWidth);
    }
  }

  const DepthwiseSpec& spec_;
  const ChannelAddresses& channels_;
  const int64_t row_;  // floats
  alignas(32) float weights_[kSize * kSize * kWidth];
  alignas(32) float image_[kMostPositions * kWidth];
  alignas(32) float results_[(kMostPositions + kPositionsAtOnce) * kWidth];
  float unread_[kWidth];
};

template <int kSize, int kStride>
void convolve_together(const DepthwiseSpec& spec, const ChannelAddresses& channels) {
  SideBySide<kSize, kStride>(spec, channels).convolve();
}

#endif

}  // namespace
}  // namespace stator::CPU_CAPABILITY
