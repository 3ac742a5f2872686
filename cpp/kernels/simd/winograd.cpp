// Convolution by Winograd's way: winograd.h says what it computes. Compiled once per CPU capability.
//
// A result is the difference of numbers that its own window's elements need not be in: where these are much larger than it, it is all rounding
// errors, and where they are infinite, NaN. Such results are computed anew, as sums of products.
#include "kernels/winograd.h"

#include "kernels/simd/convolution_tiles.h"
#include "kernels/simd/share.h"

namespace stator::CPU_CAPABILITY {

extern const WinogradKernels winograd_kernels;

namespace {

// Its input laid out.
struct PatchedGroup : Group {
  const float* given;  // weights as they came
};

// Patches of a vector: neighbours in the input from `position` on, or by rows (-1).
struct Vector {
  int64_t position;
  Segments by_rows;

  int64_t position_of(int64_t lane, int64_t row) const {
    if (position >= 0) return position + lane;
    int64_t s = 0;
    while (s + 1 < by_rows.count && by_rows.all[s + 1].at <= lane) ++s;
    return by_rows.all[s].row * row + by_rows.all[s].column + lane - by_rows.all[s].at;
  }
};

// How patches are numbered: with what lies between rows as if there were some, if that takes no more vectors, so that more of them lie in one
// piece.
struct Numbering {
  int64_t columns, row, count;

  explicit Numbering(const WinogradSpec& spec) : columns(spec.out_columns), row(spec.row) {
    const int64_t all = (spec.out_rows - 1) * row + columns, without = spec.out_rows * columns;
    const bool in_one = 16 * quotient_up(all, kWidth) <= 17 * quotient_up(without, kWidth);
    if (!in_one) row = columns;
    count = in_one ? all : without;
  }
  Segments by_rows(int64_t first, int64_t patches) const { return {first, patches, columns, row}; }
  Vector vector(int64_t first, int64_t patches, int64_t input_row) const {
    Vector out{first, by_rows(first, patches)};
    const auto& [segments, count] = out.by_rows;
    if (row != input_row) out.position = count == 1 ? segments[0].row * input_row + segments[0].column : -1;
    return out;
  }
};

// Patches that are computed at once.
struct Patches {
  Segments all;
  Vector vectors[kMostVectors];
};

// Of what is computed at once: transformed patches and their products, a matrix [channel][patch] for each element.
struct Matrices {
  float *patches, *sums;
  int64_t from_patches, from_sums;  // to the next matrix
};

template <int kVectors>
Matrices matrices_of(const WinogradSpec& spec, float* scratch) {
  const int64_t width = kVectors * kWidth, made = quotient_up(spec.out_channels, kBlock) * kBlock;
  Matrices out{};
  out.from_patches = spec.in_channels * width + kApart;
  out.from_sums = made * width + kApart;
  out.patches = scratch;
  out.sums = scratch + kPatch * out.from_patches;
  return out;
}

// A vector of patches of a channel for each of their elements.
STATOR_INLINE void load_patches(const WinogradSpec& spec, const PatchedGroup& group, const Vector& vector,
                                int64_t channel, Lanes (&patch)[kPatch]) {
  const int64_t* offsets = group.offsets;
  const float* in = group.in + channel * spec.row_planes * spec.column_planes * spec.plane_rows * spec.plane_columns;
  if (vector.position >= 0) {
    in += vector.position;
    each<kPatch>([&](auto i) __attribute__((always_inline)) { patch[i.value] = load(in + offsets[i.value]); });
    return;
  }
  float side_by_side[2 * kWidth] = {};
  each<kPatch>([&](auto i) __attribute__((always_inline)) {
    gather(vector.by_rows, spec.row, in + offsets[i.value], true, side_by_side);
    patch[i.value] = load(side_by_side);
  });
}

// B^T of a column or row of a patch.
STATOR_INLINE void transform(Lanes& a, Lanes& b, Lanes& c, Lanes& d) {
  const Lanes first = a - c, second = b + c, third = c - b, fourth = b - d;
  a = first;
  b = second;
  c = third;
  d = fourth;
}

template <int kVectors>
void transform_patches(const WinogradSpec& spec, const PatchedGroup& group, const Patches& patches,
                       const Matrices& matrices) {
  for (int64_t channel = 0; channel < spec.in_channels; ++channel) {
    for (int v = 0; v < kVectors; ++v) {
      Lanes p[kPatch];
      load_patches(spec, group, patches.vectors[v], channel, p);
      each<4>([&](auto i) __attribute__((always_inline)) {
        transform(p[i.value], p[i.value + 4], p[i.value + 8], p[i.value + 12]);
      });
      each<4>([&](auto i) __attribute__((always_inline)) {
        transform(p[i.value * 4], p[i.value * 4 + 1], p[i.value * 4 + 2], p[i.value * 4 + 3]);
      });
      float* to = matrices.patches + (channel * kVectors + v) * kWidth;
      each<kPatch>([&](auto i)
                       __attribute__((always_inline)) { store(p[i.value], to + i.value * matrices.from_patches); });
    }
  }
}

// Longer sums are made of sums of about as many terms. Results are differences of sums, which magnifies their rounding errors.
constexpr int64_t kMostTerms = 64;

template <int kVectors>
void multiply(const WinogradSpec& spec, const PatchedGroup& group, const Matrices& matrices) {
  constexpr int kRows = rows_at_once(kVectors);
  const int64_t depth = spec.in_channels, parts = quotient_up(depth, kMostTerms);
  const int64_t made = quotient_up(spec.out_channels, kBlock) * kBlock;
  for (int64_t element = 0; element < kPatch; ++element) {
    const float* patches = matrices.patches + element * matrices.from_patches;
    float* to = matrices.sums + element * matrices.from_sums;
    for (int64_t row = 0; row < made; row += kRows, to += kRows * kVectors * kWidth) {
      const float* weights = group.weights + (element * made + row / kBlock * kBlock) * depth + row % kBlock;
      const int64_t ahead = to_next_block((element * made + row) / kBlock, kPatch * made / kBlock, depth);
      for (int64_t p = 0; p < parts; ++p) {
        const Range channels{p * depth / parts, (p + 1) * depth / parts};
        const SideBySide<kVectors> right{patches + channels.first * kVectors * kWidth};
        Lanes sums[kRows * kVectors];
        sum_up<kRows, kVectors>(nullptr, weights + channels.first * kBlock, channels.last - channels.first, ahead,
                                right, sums);
        each<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
          float* sum = to + i.value * kWidth;
          store(p > 0 ? sums[i.value] + load(sum) : sums[i.value], sum);
        });
      }
    }
  }
}

// The 2x2 results of each patch, and the largest magnitude of what they are made of.
struct Results {
  Lanes at[4], largest;
};

// A^T of the sums, by columns and by rows.
STATOR_INLINE Results results_of(const float* sums, int64_t from_sums) {
  Results out{};
  Lanes rows[2][4];
  each<4>([&](auto i) __attribute__((always_inline)) {
    Lanes column[4];
    each<4>([&](auto j) __attribute__((always_inline)) {
      column[j.value] = load(sums + (j.value * 4 + i.value) * from_sums);
      out.largest = greater(magnitude_of(column[j.value]), out.largest);
    });
    rows[0][i.value] = column[0] + column[1] + column[2];
    rows[1][i.value] = column[1] - column[2] - column[3];
  });
  each<2>([&](auto i) __attribute__((always_inline)) {
    const Lanes(&row)[4] = rows[i.value];
    out.at[i.value * 2] = row[0] + row[1] + row[2];
    out.at[i.value * 2 + 1] = row[1] - row[2] - row[3];
  });
  return out;
}

// Of results of random numbers one in some four thousand is smaller than this, beside what it is made of.
constexpr float kLeastPart = 0x1p-12f;

// By kind of result, the lanes of those that may be little but rounding errors, or are not finite.
struct Doubts {
  uint32_t lanes[4];

  STATOR_INLINE explicit Doubts(const Results& results) {
    const Lanes least = results.largest * all_lanes(kLeastPart);
    each<4>([&](auto i) __attribute__((always_inline)) {
      const Lanes result = results.at[i.value];
      lanes[i.value] = not_at_least(magnitude_of(result) + result * Lanes{}, least);  // or NaN
    });
  }
  STATOR_INLINE bool any() const { return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0; }
  int count() const {
    int count = 0;
    for (uint32_t some : lanes) count += __builtin_popcount(some);
    return count;
  }
};

// One result as a sum of products.
float result_directly(const WinogradSpec& spec, const PatchedGroup& group, int64_t channel, int64_t position,
                      int kind) {
  const int64_t channel_floats = spec.row_planes * spec.column_planes * spec.plane_rows * spec.plane_columns;
  const float *weights = group.given + channel * spec.in_channels * 9, *in = group.in + position;
  float sums[9] = {};
  for (int64_t c = 0; c < spec.in_channels; ++c, in += channel_floats, weights += 9) {
    each<9>([&](auto i) __attribute__((always_inline)) {
      sums[i.value] += weights[i.value] * in[group.offsets[(kind / 2 + i.value / 3) * 4 + kind % 2 + i.value % 3]];
    });
  }
  float sum = 0;
  for (float some : sums) sum += some;
  return sum;
}

// Sums of products over some of the input channels.
Results sums_directly(const WinogradSpec& spec, const PatchedGroup& group, const float* weights, const Vector& vector,
                      Range channels) {
  Results out{};
  for (int64_t channel = channels.first; channel < channels.last; ++channel) {
    Lanes patch[kPatch];
    load_patches(spec, group, vector, channel, patch);
    each<36>([&](auto i) __attribute__((always_inline)) {
      constexpr int kResult = i.value % 4, kRow = i.value / 12, kColumn = i.value / 4 % 3;
      constexpr int kElement = (kResult / 2 + kRow) * 4 + kResult % 2 + kColumn;
      const Lanes weight = all_lanes(weights[channel * 9 + kRow * 3 + kColumn]);
      out.at[kResult] = fused(weight, patch[kElement], out.at[kResult]);
    });
  }
  return out;
}

// All results of a vector.
Results results_directly(const WinogradSpec& spec, const PatchedGroup& group, int64_t channel, const Vector& vector) {
  constexpr int64_t kStep = kMostTerms / 8;  // input channels, of which each brings nine terms
  const float* weights = group.given + channel * spec.in_channels * 9;
  Results out{};
  for (int64_t first = 0; first < spec.in_channels; first += kStep) {
    const Range channels{first, least(first + kStep, spec.in_channels)};
    const Results some = sums_directly(spec, group, weights, vector, channels);
    each<4>([&](auto i) __attribute__((always_inline)) { out.at[i.value] += some.at[i.value]; });
  }
  return out;
}

// More doubts in a vector than these are settled for all of it at once.
constexpr int kMostOneByOne = 8;

[[gnu::noinline]] void settle(const WinogradSpec& spec, const PatchedGroup& group, int64_t channel,
                              const Vector& vector, const Doubts& doubts, Results& results) {
  if (doubts.count() > kMostOneByOne) {
    results = results_directly(spec, group, channel, vector);
    return;
  }
  for (int kind = 0; kind < 4; ++kind) {
    for (uint32_t lanes = doubts.lanes[kind]; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      const int64_t position = vector.position_of(lane, spec.row);
      results.at[kind][lane] = result_directly(spec, group, channel, position, kind);
    }
  }
}

// Both rows of results of a channel, side by side.
template <int kVectors>
using Rows = float[2][2 * kVectors * kWidth + kWidth];  // whole vectors are read of what is left

// f(row, number in it, place in the result, count) for those that there are in the result.
template <class F>
STATOR_INLINE void for_each_piece(const WinogradSpec& spec, const Segments& patches, const F& f) {
  for (int64_t s = 0; s < patches.count; ++s) {
    const Segment& segment = patches.all[s];
    const int64_t row = 2 * segment.row, column = 2 * segment.column;
    const int64_t count = least(2 * segment.count, spec.columns - column);
    for (int64_t r = 0; r < least(2, spec.rows - row); ++r)
      f(r, 2 * segment.at, (row + r) * spec.out_row + column, count);
  }
}

template <int kVectors>
void put(const WinogradSpec& spec, const Group& group, const Rows<kVectors>& rows, const Segments& patches,
         int64_t channel) {
  for_each_piece(spec, patches, [&](int64_t row, int64_t at, int64_t place, int64_t count) {
    const float* from = rows[row] + at;
    place += channel * spec.out_channel;
    group.addend ? put_added(spec, group, from, count, place) : copy_some(from, count, group.out + place);
  });
}

template <int kVectors>
void finish(const WinogradSpec& spec, const PatchedGroup& group, const Patches& patches, const Matrices& matrices) {
  const bool clamps = spec.clamps && !group.addend;
  Rows<kVectors> rows;
  for (int64_t channel = 0; channel < spec.out_channels; ++channel) {
    for (int v = 0; v < kVectors; ++v) {
      Results results = results_of(matrices.sums + (channel * kVectors + v) * kWidth, matrices.from_sums);
      const Doubts doubts(results);
      if (doubts.any()) settle(spec, group, channel, patches.vectors[v], doubts, results);
      each<4>([&](auto i) __attribute__((always_inline)) {
        if (group.bias) results.at[i.value] += all_lanes(group.bias[channel]);
        if (clamps) results.at[i.value] = clamped(results.at[i.value], spec.least, spec.most);
      });
      each<2>([&](auto r) __attribute__((always_inline)) {
        Lanes low, high;
        take_turns(results.at[r.value * 2], results.at[r.value * 2 + 1], low, high);
        store(low, rows[r.value] + 2 * v * kWidth);
        store(high, rows[r.value] + (2 * v + 1) * kWidth);
      });
    }
    put<kVectors>(spec, group, rows, patches.all, channel);
  }
}

template <int kVectors>
void convolve_patches(const WinogradSpec& spec, const PatchedGroup& group, const Numbering& numbering, const Tile& tile,
                      float* scratch) {
  const int64_t count = (kVectors - 1) * kWidth + tile.last;
  const auto vector = [&](int64_t v) {
    const int64_t first = v * kWidth;
    return numbering.vector(tile.position + first, least(kWidth, count - first), spec.row);
  };
  const Patches patches{numbering.by_rows(tile.position, count),
                        {vector(0), vector(kVectors > 1 ? 1 : 0), vector(kVectors > 2 ? 2 : 0)}};
  const Matrices matrices = matrices_of<kVectors>(spec, scratch);
  transform_patches<kVectors>(spec, group, patches, matrices);
  multiply<kVectors>(spec, group, matrices);
  finish<kVectors>(spec, group, patches, matrices);
}

bool convolve(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const WinogradSpec*>(specification);
  const Operands operands = operands_of(spec, addresses, true);
  const Numbering numbering(spec);
  const Tiling tiling(1, numbering.count, 0, 0, true);
  const int64_t made = quotient_up(spec.out_channels, kBlock) * kBlock;
  for_each_group(
      spec, operands.in, operands.layout, tiling.count(), [&](int64_t i, const float* in, Range tiles, int64_t part) {
        const PatchedGroup group{group_of(spec, operands, i, in, kPatch * made * spec.in_channels),
                                 operands.given + i % spec.groups * spec.out_channels * spec.in_channels * 9};
        float* scratch = static_cast<float*>(*operands.more) + part * spec.matrices_floats;
        for (int64_t t = tiles.first; t < tiles.last; ++t) {
          const Tile tile = tiling.tile(t);
          with_vectors(tile,
                       [&](auto vectors) { convolve_patches<vectors.value>(spec, group, numbering, tile, scratch); });
        }
      });
  return true;
}

}  // namespace

const WinogradKernels winograd_kernels{kMostVectors * kWidth, convolve};

}  // namespace stator::CPU_CAPABILITY
