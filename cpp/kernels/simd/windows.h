// Tiles of neighbouring positions, and inputs laid out for them: kernels/windows.h. Everything here is of one file and one capability.
#pragma once

#include "kernels/simd/lanes.h"
#include "kernels/windows.h"

namespace stator::CPU_CAPABILITY {
namespace {

constexpr int64_t kMostVectors = 3;

// Positions that are computed at once.
struct Tile {
  int64_t position, count;  // vectors
  int64_t last;             // positions of the last vector
  int64_t out;              // where the first one goes; -1: it is to be found by position
};

// How the positions of a group are cut into tiles: in strips, which are rows or all rows as one.
struct Tiling {
  int64_t strips, length, row, out_row;
  bool direct;  // a strip's results are neighbours
  int64_t vectors, tiles;

  Tiling(int64_t strips, int64_t length, int64_t row, int64_t out_row, bool direct)
      : strips(strips),
        length(length),
        row(row),
        out_row(out_row),
        direct(direct),
        vectors(quotient_up(length, kWidth)),
        tiles(quotient_up(vectors, kMostVectors)) {}

  int64_t count() const { return strips * tiles; }
  Tile tile(int64_t i) const {
    const int64_t strip = i / tiles, at = i - strip * tiles;
    const int64_t first = at * vectors / tiles, end = (at + 1) * vectors / tiles;
    const int64_t start = first * kWidth;
    return {strip * row + start, end - first, least(kWidth, length - (end - 1) * kWidth),
            direct ? strip * out_row + start : -1};
  }
};

// Rows one by one, or all as one with what lies between them, if that takes so few vectors less that cutting results into rows pays: the more, the
// shorter sums are.
inline Tiling tiling_of(const WindowSpec& spec) {
  const int64_t rows = spec.out_rows, columns = spec.out_columns;
  if (rows == 1 || (spec.row == columns && spec.out_row == columns)) return {1, rows * columns, 0, 0, true};
  const int64_t all = (rows - 1) * spec.row + columns;
  const int64_t one_by_one = rows * quotient_up(columns, kWidth), as_one = quotient_up(all, kWidth);
  const int64_t part = spec.depth < 100 ? 8 : 16;
  if (part * as_one < (part - 1) * one_by_one) return {1, all, 0, 0, false};
  return {rows, columns, spec.row, spec.out_row, true};
}

STATOR_INLINE void copy_some(const float* from, int64_t count, float* to) {
  for (; count > kWidth; count -= kWidth, from += kWidth, to += kWidth) store(load(from), to);
  if (count > 0) Part(count).store(load(from), to);
}

// What a tile gives in some channels. Whole vectors are read of what is left of one.
template <int kRows, int kVectors>
using TileRows = float[kRows][(kVectors + 1) * kWidth];

// f(number in the tile, place in the result, count) for the results of each row; positions between rows are left out.
template <int kVectors, class F>
STATOR_INLINE void for_each_row_of(const WindowSpec& spec, const Tile& tile, const F& f) {
  const int64_t end = tile.position + (kVectors - 1) * kWidth + tile.last;
  int64_t y = tile.position / spec.row, x = tile.position - y * spec.row;
  for (int64_t position = tile.position; position < end; ++y, x = 0) {
    const int64_t count = least(spec.out_columns - x, end - position);
    if (count > 0) f(position - tile.position, y * spec.out_row + x, count);
    position += spec.row - x;
  }
}

template <int kRows, int kVectors>
void put_rows(const WindowSpec& spec, const TileRows<kRows, kVectors>& results, const Tile& tile, float* out) {
  for_each_row_of<kVectors>(spec, tile, [&](int64_t at, int64_t place, int64_t count) {
    for (int r = 0; r < kRows; ++r) copy_some(results[r] + at, count, out + r * spec.out_channel + place);
  });
}

struct Range {
  int64_t first, last;
};

// Neighbouring results of one row, the first of which is number `at` of those that are computed together.
struct Segment {
  int64_t at, row, column, count;
};

// Results that are computed together, by rows.
struct Segments {
  Segment all[kMostVectors * kWidth];
  int64_t count = 0;

  // `results` positions from `first` on. In each row there are `columns` results; positions from there to `row` are none.
  Segments(int64_t first, int64_t results, int64_t columns, int64_t row) {
    int64_t y = first / row, x = first - y * row;
    for (int64_t at = 0; at < results; at += row - x, x = 0, ++y) {
      if (x < columns) all[count++] = {at, y, x, least(columns - x, results - at)};
    }
  }
};

// Copies what lies behind `in` at the positions of some results. Whole vectors are written; they are read as well if there is `room` behind the
// input.
STATOR_INLINE void gather(const Segments& segments, int64_t row, const float* in, bool room, float* to) {
  for (int64_t s = 0; s < segments.count; ++s) {
    const auto [at, y, x, count] = segments.all[s];
    const float* from = in + y * row + x;
    int64_t i = 0;
    for (; i + kWidth <= count; i += kWidth) store(load(from + i), to + at + i);
    if (i < count) store(room ? load(from + i) : Part(count - i).load(from + i), to + at + i);
  }
}

// The elements of a vector from `begin` on and before `end`, if there are any. The others are not touched in memory, and 0 in a vector.
class Between {
 public:
  Between() = default;
  Between(int64_t begin, int64_t end) {
    begin = begin < 0 ? 0 : least(begin, kWidth);
    end = end < begin ? begin : least(end, kWidth);
#if defined(CPU_CAPABILITY_AVX512)
    mask_ = static_cast<__mmask16>((1u << end) - (1u << begin));
#elif defined(CPU_CAPABILITY_AVX2)
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    mask_ = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(begin)), lanes),
                                _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(end)), lanes));
#else
    begin_ = begin;
    end_ = end;
#endif
  }

  STATOR_INLINE Lanes load(const float* from) const {
#if defined(CPU_CAPABILITY_AVX512)
    return _mm512_maskz_loadu_ps(mask_, from);
#elif defined(CPU_CAPABILITY_AVX2)
    return _mm256_maskload_ps(from, mask_);
#else
    Lanes value{};
    for (int64_t i = begin_; i < end_; ++i) value[i] = from[i];
    return value;
#endif
  }
  // A number in place of all others; 0 where they are loaded.
  STATOR_INLINE Lanes others(float number) const {
    const Lanes all = all_lanes(number);
#if defined(CPU_CAPABILITY_AVX512)
    return _mm512_mask_mov_ps(all, mask_, Lanes{});
#elif defined(CPU_CAPABILITY_AVX2)
    return _mm256_andnot_ps(_mm256_castsi256_ps(mask_), all);
#else
    Lanes value = all;
    for (int64_t i = begin_; i < end_; ++i) value[i] = 0;
    return value;
#endif
  }

 private:
#if defined(CPU_CAPABILITY_AVX512)
  __mmask16 mask_;
#elif defined(CPU_CAPABILITY_AVX2)
  __m256i mask_;
#else
  int64_t begin_, end_;
#endif
};

// The first and every other element of two vectors, or the second and every other.
template <int kFirst = 0>
STATOR_INLINE Lanes every_other(Lanes low, Lanes high) {
  constexpr int k = kFirst;
#if defined(CPU_CAPABILITY_AVX512)
  return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6, k + 8, k + 10, k + 12, k + 14, k + 16, k + 18,
                                 k + 20, k + 22, k + 24, k + 26, k + 28, k + 30);
#elif defined(CPU_CAPABILITY_AVX2)
  return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6, k + 8, k + 10, k + 12, k + 14);
#else
  return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6);
#endif
}

// Two vectors whose elements take turns: the inverse of every_other.
STATOR_INLINE void take_turns(Lanes even, Lanes odd, Lanes& low, Lanes& high) {
#if defined(CPU_CAPABILITY_AVX512)
  low = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  high = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined(CPU_CAPABILITY_AVX2)
  low = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  low = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
  high = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
#endif
}

// The first and every other of `count` elements, which two vectors have room for.
STATOR_INLINE Lanes every_other_of(const float* from, int64_t count) {
  if (count <= kWidth) return every_other(Part(count).load(from), Lanes{});
  return every_other(load(from), Part(count - kWidth).load(from + kWidth));
}

// Elements first, first + stride, ... of a row as `count` neighbours, with `around` where it has none.
inline void lay_out_row(const float* in, int64_t step, int64_t size, int64_t first, int64_t stride, int64_t count,
                        float around, float* out) {
  int64_t begin = first < 0 ? quotient_up(-first, stride) : 0;
  begin = least(begin, count);
  int64_t end = first < size ? least(count, quotient_up(size - first, stride)) : begin;
  end = end > begin ? end : begin;
  for (int64_t i = 0; i < begin; ++i) out[i] = around;
  const int64_t leap = stride * step;
  const float* from = in + (first + begin * stride) * step;
  int64_t i = begin;
  if (leap == 1) {
    for (; i + kWidth <= end; i += kWidth, from += kWidth) store(load(from), out + i);
    if (i < end) Part(end - i).store(Part(end - i).load(from), out + i);
  } else if (leap == 2) {
    // One more than these is there, so that the last vector ends within the row.
    for (; i + kWidth < end; i += kWidth, from += 2 * kWidth)
      store(every_other(load(from), load(from + kWidth)), out + i);
    if (i < end) Part(end - i).store(every_other_of(from, 2 * (end - i) - 1), out + i);
  } else {
    for (; i < end; ++i, from += leap) out[i] = *from;
  }
  for (int64_t i = end; i < count; ++i) out[i] = around;
}

inline void lay_out_channel(const WindowSpec& spec, const float* in, float* out) {
  for (int64_t py = 0; py < spec.row_planes; ++py) {
    for (int64_t px = 0; px < spec.column_planes; ++px) {
      for (int64_t r = 0; r < spec.plane_rows; ++r, out += spec.plane_columns) {
        const int64_t y = r * spec.row_stride + py - spec.rows_before;
        const bool inside = y >= 0 && y < spec.in_rows;
        lay_out_row(inside ? in + y * spec.in_row : in, spec.in_column, inside ? spec.in_columns : 0,
                    px - spec.columns_before, spec.column_stride, spec.plane_columns, spec.around, out);
      }
    }
  }
}

inline void lay_out(const WindowSpec& spec, const float* in, float* out, Range channels) {
  const int64_t floats = spec.row_planes * spec.column_planes * spec.plane_rows * spec.plane_columns;
  for (int64_t channel = channels.first; channel < channels.last; ++channel)
    lay_out_channel(spec, in + channel * spec.in_channel, out + channel * floats);
  // What is read beyond the last position that counts is no reason to take it for more than a number.
  if (channels.last == spec.in_channels)
    for (int64_t i = channels.last * floats; i < spec.group_floats; ++i) out[i] = 0;
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
