// Convolution of each channel alone: depthwise.h says what it computes. Compiled once per CPU capability.
#include "kernels/depthwise.h"

#include <cmath>

#include "kernels/simd/share.h"
#include "kernels/simd/side_by_side.h"
#include "kernels/simd/windows.h"

namespace stator::CPU_CAPABILITY {

extern const DepthwiseKernels depthwise_kernels;

namespace {

// Rows of results that are computed at once, so that a row of the input is loaded for all of them.
constexpr int64_t kRowsAtOnce = 4;
// Rows after which the next column of vectors comes: few, so that the input is read about as it lies in memory; more where loading the weights for
// each takes longer.
constexpr int64_t rows_of_band(int size) { return size == 3 ? 16 : 32; }

// Of one image. Handed on as a value with all that is used for each row: it stays in registers, where what is behind a reference is read again
// after each store.
struct Channel {
  const float *in, *weights;
  float bias, least, most;
  float* out;
  int64_t in_row, in_rows, rows_before, out_row;
};

#if defined(CPU_CAPABILITY_AVX512)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif
// Sums of a result, over every other column, so that they wait less for one another.
constexpr int kSums = kRegisters / 16;

// The weights of a channel, each in all lanes: in registers if there is room beside sums, a column and a mask or two.
template <int kSize>
class Weights {
 public:
  STATOR_INLINE explicit Weights(const float* weights) : from_(weights) {
    if constexpr (kKept) each<kSize * kSize>([&](auto i) { lanes_[i.value] = all_lanes(weights[i.value]); });
  }
  template <int kRow, int kColumn>
  STATOR_INLINE Lanes get() const {
    constexpr int kAt = kRow * kSize + kColumn;
    if constexpr (kKept) return lanes_[kAt];
    return all_lanes(from_[kAt]);
  }

 private:
  static constexpr bool kKept = kSize * kSize + kRowsAtOnce + 2 < kRegisters;
  const float* from_;
  Lanes lanes_[kKept ? kSize * kSize : 1];
};

// A vector of results of a row: the columns of the input that their windows' first columns meet begin at `first`.
template <int kSize, int kStride>
struct Inside {
  int64_t first;

  template <class X>
  STATOR_INLINE Lanes load_column(const float* row, X x) const {
    const float* from = row + first + x.value;
    return kStride == 1 ? load(from) : every_other(load(from), load(from + kWidth));
  }
};

// The same where windows reach over an end of the row: there are zeros.
template <int kSize, int kStride>
class AtEnd {
 public:
  AtEnd(int64_t first, int64_t columns) : first_(first) {
    for (int x = 0; x < kSize; ++x) {
      for (int v = 0; v < kStride; ++v) {
        const int64_t begin = first + x + v * kWidth;
        inside_[x][v] = Between(-begin, columns - begin);
      }
    }
  }

  template <class X>
  STATOR_INLINE Lanes load_column(const float* row, X x) const {
    const float* from = row + first_ + x.value;
    const Lanes low = inside_[x.value][0].load(from);
    return kStride == 1 ? low : every_other(low, inside_[x.value][kStride - 1].load(from + kWidth));
  }

 private:
  int64_t first_;
  Between inside_[kSize][kStride];
};

// Rows y .. y + kRows of results, of which those before `end` are wanted.
template <int kSize, int kStride, int kRows, class Columns>
STATOR_INLINE void convolve_rows(const Channel& channel, const Weights<kSize>& weights, int64_t y, int64_t end,
                                 const Columns& columns, float* out, const Part& part) {
  Lanes sums[kRows][kSums] = {};
  each<kRows>([&](auto i) __attribute__((always_inline)) { sums[i.value][0] = all_lanes(channel.bias); });
  each<(kRows - 1) * kStride + kSize>([&](auto r) __attribute__((always_inline)) {
    const int64_t row = y * kStride - channel.rows_before + r.value;
    if (row < 0 || row >= channel.in_rows) return;
    each<kSize>([&](auto x) __attribute__((always_inline)) {
      const Lanes in = columns.load_column(channel.in + row * channel.in_row, x);
      each<kRows>([&](auto i) __attribute__((always_inline)) {
        constexpr int kRow = r.value - i.value * kStride;
        Lanes& sum = sums[i.value][x.value % kSums];
        if constexpr (kRow >= 0 && kRow < kSize) sum = fused(weights.template get<kRow, x.value>(), in, sum);
      });
    });
  });
  each<kRows>([&](auto i) __attribute__((always_inline)) {
    if (y + i.value >= end) return;
    Lanes sum = sums[i.value][0];
    if constexpr (kSums == 2) sum += sums[i.value][1];
    part.store(clamped(sum, channel.least, channel.most), out + (y + i.value) * channel.out_row);
  });
}

// Rows y .. end of results, in a column of vectors that begins at `out` in the first row of all.
template <int kSize, int kStride, class Columns>
void convolve_columns(const Channel channel, int64_t y, int64_t end, const Columns columns, float* out, int64_t count) {
  const Part part(count);
  const Weights<kSize> weights(channel.weights);
  for (; end - y > 2; y += kRowsAtOnce)
    convolve_rows<kSize, kStride, kRowsAtOnce>(channel, weights, y, end, columns, out, part);
  if (y < end) convolve_rows<kSize, kStride, 2>(channel, weights, y, end, columns, out, part);
}

Channel channel_at(const DepthwiseSpec& spec, const ChannelAddresses& at) {
  return {.in = at.in,
          .weights = at.weights,
          .bias = at.bias ? *at.bias : 0.0f,
          .least = spec.clamps ? spec.least : -INFINITY,
          .most = spec.clamps ? spec.most : INFINITY,
          .out = at.out,
          .in_row = spec.in_row,
          .in_rows = spec.in_rows,
          .rows_before = spec.rows_before,
          .out_row = spec.out_row};
}

template <int kSize, int kStride>
void convolve_one(const DepthwiseSpec& spec, const ChannelAddresses& at) {
  const Channel channel = channel_at(spec, at);
  for (int64_t y = 0; y < spec.out_rows; y += rows_of_band(kSize)) {
    const int64_t end = least(y + rows_of_band(kSize), spec.out_rows);
    for (int64_t x = 0; x < spec.out_columns; x += kWidth) {
      const int64_t first = x * kStride - spec.columns_before, count = least(kWidth, spec.out_columns - x);
      const auto convolve = [&](const auto& columns) {
        convolve_columns<kSize, kStride>(channel, y, end, columns, channel.out + x, count);
      };
      if (first >= 0 && first + kSize - 1 + kStride * kWidth <= spec.in_columns) {
        convolve(Inside<kSize, kStride>{first});
      } else {
        convolve(AtEnd<kSize, kStride>(first, spec.in_columns));
      }
    }
  }
}

// For one channel, and for kChannelsTogether of them.
struct Functions {
  void (*one)(const DepthwiseSpec&, const ChannelAddresses&);
  void (*together)(const DepthwiseSpec&, const ChannelAddresses&);
};

template <int kSize>
Functions functions_for(int64_t stride) {
  if (stride == 1) return {convolve_one<kSize, 1>, convolve_together<kSize, 1>};
  return {convolve_one<kSize, 2>, convolve_together<kSize, 2>};
}

Functions functions_for(const DepthwiseSpec& spec) {
  switch (spec.size) {
    case 3:
      return functions_for<3>(spec.stride);
    case 5:
      return functions_for<5>(spec.stride);
    default:
      return functions_for<7>(spec.stride);
  }
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const DepthwiseSpec*>(specification);
  const auto* in = static_cast<const float*>(*addresses++);
  const auto* weights = static_cast<const float*>(*addresses++);
  const auto* bias = spec.has_bias ? static_cast<const float*>(*addresses++) : nullptr;
  auto* out = static_cast<float*>(*addresses);
  const Functions functions = functions_for(spec);
  const int64_t groups = goes_side_by_side(spec) ? spec.groups / kChannelsTogether : 0;
  const int64_t in_groups = groups * kChannelsTogether, works = groups + spec.groups - in_groups;
  share(spec.parts, spec.images * works, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t image = i / works, work = i - image * works;
      const int64_t c = work < groups ? work * kChannelsTogether : in_groups + work - groups;
      const auto convolve_some = work < groups ? functions.together : functions.one;
      convolve_some(spec, {.in = in + image * spec.in_image + c * spec.in_channel,
                           .weights = weights + c * spec.size * spec.size,
                           .bias = bias ? bias + c : nullptr,
                           .out = out + image * spec.out_image + c * spec.out_channel});
    }
  });
  return true;
}

}  // namespace

const DepthwiseKernels depthwise_kernels{convolve};

}  // namespace stator::CPU_CAPABILITY
