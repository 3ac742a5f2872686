// Convolution of each channel alone: depthwise.h says what it computes. Compiled once per CPU capability.
#include "kernels/depthwise.h"

#include "kernels/simd/share.h"
#include "kernels/simd/windows.h"

namespace stator::CPU_CAPABILITY {

extern const DepthwiseKernels depthwise_kernels;

namespace {

// Rows of results that are computed at once, so that a row of the input is loaded for all of them.
constexpr int64_t kRowsAtOnce = 4;

// Of one image.
struct Channel {
  const float *in, *weights;
  float bias;
  float* out;
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

template <int kSize, int kStride, int kRows, class Columns>
STATOR_INLINE void convolve_rows(const DepthwiseSpec& spec, const Channel& channel, int64_t y, const Columns& columns,
                                 float* out, const Part& part) {
  Lanes sums[kRows];
  each<kRows>([&](auto i) __attribute__((always_inline)) { sums[i.value] = all_lanes(channel.bias); });
  each<(kRows - 1) * kStride + kSize>([&](auto r) __attribute__((always_inline)) {
    const int64_t row = y * kStride - spec.rows_before + r.value;
    if (row < 0 || row >= spec.in_rows) return;
    each<kSize>([&](auto x) __attribute__((always_inline)) {
      const Lanes in = columns.load_column(channel.in + row * spec.in_row, x);
      each<kRows>([&](auto i) __attribute__((always_inline)) {
        constexpr int kRow = r.value - i.value * kStride;
        if constexpr (kRow >= 0 && kRow < kSize)
          sums[i.value] = fused(all_lanes(channel.weights[kRow * kSize + x.value]), in, sums[i.value]);
      });
    });
  });
  each<kRows>([&](auto i) __attribute__((always_inline)) {
    if (spec.clamps) sums[i.value] = clamped(sums[i.value], spec.least, spec.most);
    part.store(sums[i.value], out + (y + i.value) * spec.out_row);
  });
}

template <int kSize, int kStride, class Columns>
void convolve_columns(const DepthwiseSpec& spec, const Channel& channel, const Columns& columns, float* out,
                      int64_t count) {
  const Part part(count);
  int64_t y = 0;
  for (; y + kRowsAtOnce <= spec.out_rows; y += kRowsAtOnce)
    convolve_rows<kSize, kStride, kRowsAtOnce>(spec, channel, y, columns, out, part);
  if (spec.out_rows - y >= 2) {
    convolve_rows<kSize, kStride, 2>(spec, channel, y, columns, out, part);
    y += 2;
  }
  if (y < spec.out_rows) convolve_rows<kSize, kStride, 1>(spec, channel, y, columns, out, part);
}

template <int kSize, int kStride>
void convolve_channel(const DepthwiseSpec& spec, const Channel& channel) {
  for (int64_t x = 0; x < spec.out_columns; x += kWidth) {
    const int64_t first = x * kStride - spec.columns_before, count = least(kWidth, spec.out_columns - x);
    if (first >= 0 && first + kSize - 1 + kStride * kWidth <= spec.in_columns) {
      convolve_columns<kSize, kStride>(spec, channel, Inside<kSize, kStride>{first}, channel.out + x, count);
    } else {
      const AtEnd<kSize, kStride> columns(first, spec.in_columns);
      convolve_columns<kSize, kStride>(spec, channel, columns, channel.out + x, count);
    }
  }
}

using ConvolveChannel = void (*)(const DepthwiseSpec&, const Channel&);

ConvolveChannel function_for(const DepthwiseSpec& spec) {
  const bool by_one = spec.stride == 1;
  switch (spec.size) {
    case 3:
      return by_one ? convolve_channel<3, 1> : convolve_channel<3, 2>;
    case 5:
      return by_one ? convolve_channel<5, 1> : convolve_channel<5, 2>;
    default:
      return by_one ? convolve_channel<7, 1> : convolve_channel<7, 2>;
  }
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const DepthwiseSpec*>(specification);
  const auto* in = static_cast<const float*>(*addresses++);
  const auto* weights = static_cast<const float*>(*addresses++);
  const auto* bias = spec.has_bias ? static_cast<const float*>(*addresses++) : nullptr;
  auto* out = static_cast<float*>(*addresses);
  const ConvolveChannel convolve_one = function_for(spec);
  share(spec.parts, spec.images * spec.groups, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t image = i / spec.groups, c = i - image * spec.groups;
      convolve_one(spec, {in + image * spec.in_image + c * spec.in_channel, weights + c * spec.size * spec.size,
                          bias ? bias[c] : 0.0f, out + image * spec.out_image + c * spec.out_channel});
    }
  });
  return true;
}

}  // namespace

const DepthwiseKernels depthwise_kernels{convolve};

}  // namespace stator::CPU_CAPABILITY
