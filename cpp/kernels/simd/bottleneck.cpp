// A convolution and one of each of its channels alone: bottleneck.h says what it computes. Compiled once per CPU capability.
#include "kernels/bottleneck.h"

#include <cmath>

#include "kernels/simd/share.h"
#include "kernels/simd/side_by_side.h"

namespace stator::CPU_CAPABILITY {

extern const BottleneckKernels bottleneck_kernels;

#if !defined(CPU_CAPABILITY_AVX2) && !defined(CPU_CAPABILITY_AVX512)

const BottleneckKernels bottleneck_kernels{nullptr, 1, 1};

#else

namespace {

// Vectors of channels that are computed at once: a slice.
constexpr int kMostVectors = 2;
constexpr int64_t kSliceChannels = kMostVectors * kWidth;

// Positions at so many vectors of channels: as many sums as registers have room for.
constexpr int positions_at_once(int vectors) { return kWidth == 8 && vectors == 2 ? 6 : 12; }

// Results of a row that are computed at once.
constexpr int kColumnsAtOnce = 8;

struct Bounds {
  float least, most;

  explicit Bounds(const ConvolutionSpec& spec)
      : least(spec.clamps ? spec.least : -INFINITY), most(spec.clamps ? spec.most : INFINITY) {}
};

// Some channels of both convolutions, and the memory between them.
struct Slice {
  const float *in, *weights, *bias;
  const int64_t* offsets;
  const float* next_weights;  // of the slice that is computed after this one
  const float *window_weights, *window_bias;
  float* out;
  // Rows between the two, results, and the second one's weights, each with vectors of channels one behind the other.
  float *rows, *results, *windows;
};

// The first ---------------------------------------------------------------------------------------------------------------

// Weights of a vector of channels, of which each eight lie side by side.
STATOR_INLINE Lanes load_channels(const float* weights, [[maybe_unused]] int64_t to_next_eight) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(weights)), _mm256_loadu_ps(weights + to_next_eight),
                            1);
#else
  return load(weights);
#endif
}

// Neighbouring positions: their first windows' elements, and where what they give is to lie.
struct Positions {
  const float* in;
  float* places[positions_at_once(1)];
  const float* wanted_next;
};

struct Weights {
  int64_t step, to_next_eight;

  explicit Weights(const BottleneckSpec& spec)
      : step(spec.weights_side_by_side),
        to_next_eight(step == kConvolutionBlock ? spec.first.depth * kConvolutionBlock : kConvolutionBlock) {}
  // Where those of a slice begin.
  int64_t of(const BottleneckSpec& spec, int64_t channel) const {
    return channel / step * step * spec.first.depth + channel % step;
  }
};

template <int kVectors, int kCount>
void sum_up(const BottleneckSpec& spec, const Slice& slice, const Positions& positions) {
  const Weights form(spec);
  const int64_t to_next_vector = form.to_next_eight * (kWidth / 8), from_rows = spec.kept_rows * spec.columns * kWidth;
  const float *weights = slice.weights, *ahead = positions.wanted_next;
  Lanes sums[kCount * kVectors];
  each<kVectors>([&](auto v) __attribute__((always_inline)) {
    const Lanes bias = slice.bias ? load(slice.bias + v.value * kWidth) : Lanes{};
    each<kCount>([&](auto i) __attribute__((always_inline)) { sums[i.value * kVectors + v.value] = bias; });
  });
  for (int64_t k = 0; k < spec.first.depth; ++k, weights += form.step, ahead += form.step) {
    __builtin_prefetch(ahead, 0, 2);
    const float* in = positions.in + slice.offsets[k];
    Lanes at_k[kVectors];
    each<kVectors>([&](auto v) __attribute__((always_inline)) {
      at_k[v.value] = load_channels(weights + v.value * to_next_vector, form.to_next_eight);
    });
    each<kCount>([&](auto i) __attribute__((always_inline)) {
      const Lanes element = all_lanes(in[i.value]);
      each<kVectors>([&](auto v) __attribute__((always_inline)) {
        Lanes& sum = sums[i.value * kVectors + v.value];
        sum = fused(element, at_k[v.value], sum);
      });
    });
  }
  const Bounds bounds(spec.first);
  each<kCount * kVectors>([&](auto i) __attribute__((always_inline)) {
    store(clamped(sums[i.value], bounds.least, bounds.most),
          positions.places[i.value / kVectors] + i.value % kVectors * from_rows);
  });
}

STATOR_INLINE float* kept_row(const BottleneckSpec& spec, float* rows, int64_t row) {
  return rows + row % spec.kept_rows * spec.columns * kWidth;
}

// Rows first .. end of what lies between the two, all of whose positions are neighbours if there is more than one.
template <int kVectors>
void make_rows(const BottleneckSpec& spec, const Slice& slice, int64_t first, int64_t end) {
  const int64_t columns = spec.first.out_columns, count = (end - first) * columns;
  const int64_t tiles = quotient_up(count, positions_at_once(kVectors)), before = spec.second.columns_before * kWidth;
  const int64_t eights = least(kSliceChannels, spec.first.out_channels) / 8;
  const Weights form(spec);
  int64_t y = first, x = 0;
  float* place = kept_row(spec, slice.rows, y) + before;
  for (int64_t i = 0, at = 0; i < tiles; ++i) {
    const int64_t next = (i + 1) * count / tiles;
    Positions positions{};
    positions.in = slice.in + first * spec.first.row + at;
    positions.wanted_next = slice.next_weights + i % eights * form.to_next_eight;
    for (int64_t p = at; p < next; ++p, place += kWidth) {
      if (x == columns) place = kept_row(spec, slice.rows, ++y) + before, x = 0;
      positions.places[p - at] = place;
      ++x;
    }
    with_count<positions_at_once(kVectors)>(next - at, [&](auto count) __attribute__((always_inline)) {
      sum_up<kVectors, count.value>(spec, slice, positions);
    });
    at = next;
  }
}

// The second --------------------------------------------------------------------------------------------------------------

// What a row of results is made of: those of its windows' rows that are inside.
struct WindowRows {
  const float* rows[7];
  int64_t first, end;
};

template <int kSize, int kStride, int kCount>
void sum_windows(const WindowRows& windows, int64_t column, const float* weights, Lanes bias, Bounds bounds,
                 float* out) {
  Lanes sums[kCount];
  each<kCount>([&](auto i) __attribute__((always_inline)) { sums[i.value] = bias; });
  for (int64_t y = windows.first; y < windows.end; ++y) {
    const float *row = windows.rows[y] + column * kStride * kWidth, *of_row = weights + y * kSize * kWidth;
    each<kSize>([&](auto x) __attribute__((always_inline)) {
      const Lanes weight = load(of_row + x.value * kWidth);
      each<kCount>([&](auto i) __attribute__((always_inline)) {
        sums[i.value] = fused(weight, load(row + (i.value * kStride + x.value) * kWidth), sums[i.value]);
      });
    });
  }
  each<kCount>([&](auto i) __attribute__((always_inline)) {
    store(clamped(sums[i.value], bounds.least, bounds.most), out + i.value * kWidth);
  });
}

// A row of results, of one vector of channels.
template <int kSize, int kStride>
void sum_row(const BottleneckSpec& spec, const WindowRows& windows, const float* weights, Lanes bias, float* out) {
  const int64_t columns = spec.second.out_columns, tiles = quotient_up(columns, kColumnsAtOnce);
  const Bounds bounds(spec.second);
  for (int64_t i = 0, at = 0; i < tiles; ++i) {
    const int64_t next = (i + 1) * columns / tiles;
    with_count<kColumnsAtOnce>(next - at, [&](auto count) __attribute__((always_inline)) {
      sum_windows<kSize, kStride, count.value>(windows, at, weights, bias, bounds, out + at * kWidth);
    });
    at = next;
  }
}

using SumRow = void (*)(const BottleneckSpec&, const WindowRows&, const float*, Lanes, float*);

template <int kSize>
SumRow sum_row_for(int64_t stride) {
  return stride == 1 ? sum_row<kSize, 1> : sum_row<kSize, 2>;
}
SumRow sum_row_for(const DepthwiseSpec& spec) {
  return spec.size == 3   ? sum_row_for<3>(spec.stride)
         : spec.size == 5 ? sum_row_for<5>(spec.stride)
                          : sum_row_for<7>(spec.stride);
}

// Both --------------------------------------------------------------------------------------------------------------------

// Results from `first` on, to where they belong.
template <int kVectors>
void lay_results_apart(const BottleneckSpec& spec, const Slice& slice, int64_t first, int64_t count) {
  const int64_t channel = spec.second.out_channel;
  for (int64_t c = 0; c < kVectors * kWidth; c += kChannelsTogether) {
    const float* from = slice.results + c / kWidth * spec.kept_results * kWidth + c % kWidth;
    lay_apart(from, kWidth, count, slice.out + c * channel + first, channel);
  }
}

// Whole eights of them; what is left comes first then. Returns how many were laid apart.
template <int kVectors>
int64_t lay_eights_apart(const BottleneckSpec& spec, const Slice& slice, int64_t first, int64_t count) {
  const int64_t eights = count / 8 * 8;
  lay_results_apart<kVectors>(spec, slice, first, eights);
  for (int64_t v = 0; v < kVectors; ++v) {
    float* results = slice.results + v * spec.kept_results * kWidth;
    for (int64_t i = eights; i < count; ++i) store(load(results + i * kWidth), results + (i - eights) * kWidth);
  }
  return eights;
}

template <int kVectors>
void lay_weights_side_by_side(const BottleneckSpec& spec, const Slice& slice) {
  const int64_t window = spec.second.size * spec.second.size;
  for (int64_t c = 0; c < kVectors * kWidth; c += kChannelsTogether) {
    float* to = slice.windows + c / kWidth * window * kWidth + c % kWidth;
    lay_side_by_side(slice.window_weights + c * window, window, window, [&](int64_t i) { return to + i * kWidth; });
  }
}

template <int kVectors>
void convolve_slice(const BottleneckSpec& spec, const Slice& slice) {
  const DepthwiseSpec& second = spec.second;
  const SumRow sum_row = sum_row_for(second);
  const int64_t window = second.size * second.size * kWidth, kept = spec.kept_rows * spec.columns * kWidth;
  lay_weights_side_by_side<kVectors>(spec, slice);
  int64_t made = 0, done = 0, results = 0;
  for (int64_t y = 0; y < second.out_rows; ++y) {
    const int64_t top = y * second.stride - second.rows_before, end = least(top + second.size, second.in_rows);
    for (; made < end; made = least(made + spec.made_at_once, second.in_rows))
      make_rows<kVectors>(spec, slice, made, least(made + spec.made_at_once, second.in_rows));
    if (results + second.out_columns > spec.kept_results) {
      const int64_t apart = lay_eights_apart<kVectors>(spec, slice, done, results);
      done += apart;
      results -= apart;
    }
    for (int64_t v = 0; v < kVectors; ++v) {
      WindowRows windows{{}, top < 0 ? -top : 0, end - top};
      for (int64_t r = windows.first; r < windows.end; ++r)
        windows.rows[r] = kept_row(spec, slice.rows + v * kept, top + r);
      const Lanes bias = slice.window_bias ? load(slice.window_bias + v * kWidth) : Lanes{};
      sum_row(spec, windows, slice.windows + v * window, bias,
              slice.results + (v * spec.kept_results + results) * kWidth);
    }
    results += second.out_columns;
  }
  lay_results_apart<kVectors>(spec, slice, done, results);
}

// What is around rows stays as it is.
void clear_around(const BottleneckSpec& spec, float* rows) {
  const int64_t before = spec.second.columns_before, behind = before + spec.first.out_columns;
  for (int64_t row = 0; row < kMostVectors * spec.kept_rows; ++row, rows += spec.columns * kWidth) {
    for (int64_t x = 0; x < before; ++x) store(Lanes{}, rows + x * kWidth);
    for (int64_t x = behind; x < spec.columns; ++x) store(Lanes{}, rows + x * kWidth);
  }
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const BottleneckSpec*>(specification);
  Slice all{};
  all.in = static_cast<const float*>(*addresses++);
  all.weights = static_cast<const float*>(*addresses++);
  all.offsets = static_cast<const int64_t*>(*addresses++);
  if (spec.first.has_bias) all.bias = static_cast<const float*>(*addresses++);
  all.window_weights = static_cast<const float*>(*addresses++);
  if (spec.second.has_bias) all.window_bias = static_cast<const float*>(*addresses++);
  all.out = static_cast<float*>(*addresses++);
  auto* const scratch = static_cast<float*>(*addresses);
  const int64_t channels = spec.first.out_channels, slices = quotient_up(channels, kSliceChannels);
  const int64_t window = spec.second.size * spec.second.size;
  const Weights form(spec);
  share(spec.parts, spec.parts, [&](int64_t part, int64_t parts_end) {
    for (; part < parts_end; ++part) {
      Slice slice = all;
      slice.rows = scratch + part * spec.part_floats;
      slice.results = slice.rows + kMostVectors * spec.kept_rows * spec.columns * kWidth;
      slice.windows = slice.results + kMostVectors * spec.kept_results * kWidth;
      clear_around(spec, slice.rows);
      for (int64_t i = part * slices / spec.parts; i < (part + 1) * slices / spec.parts; ++i) {
        const int64_t channel = i * kSliceChannels, next = i + 1 < slices ? channel + kSliceChannels : 0;
        slice.weights = all.weights + form.of(spec, channel);
        slice.next_weights = all.weights + form.of(spec, next + kSliceChannels <= channels ? next : 0);
        if (all.bias) slice.bias = all.bias + channel;
        slice.window_weights = all.window_weights + channel * window;
        if (all.window_bias) slice.window_bias = all.window_bias + channel;
        slice.out = all.out + channel * spec.second.out_channel;
        channels - channel >= kSliceChannels ? convolve_slice<2>(spec, slice) : convolve_slice<1>(spec, slice);
      }
    }
  });
  return true;
}

}  // namespace

const BottleneckKernels bottleneck_kernels{convolve, kWidth, kMostVectors};

#endif

}  // namespace stator::CPU_CAPABILITY
