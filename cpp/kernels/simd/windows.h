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

// Rows one by one, or all as one with what lies between them, if that takes fewer vectors.
inline Tiling tiling_of(const WindowSpec& spec) {
  const int64_t rows = spec.out_rows, columns = spec.out_columns;
  if (rows == 1 || (spec.row == columns && spec.out_row == columns)) return {1, rows * columns, 0, 0, true};
  const int64_t all = (rows - 1) * spec.row + columns;
  const int64_t one_by_one = rows * quotient_up(columns, kWidth), as_one = quotient_up(all, kWidth);
  if (8 * as_one < 7 * one_by_one) return {1, all, 0, 0, false};
  return {rows, columns, spec.row, spec.out_row, true};
}

STATOR_INLINE void copy_some(const float* from, int64_t count, float* to) {
  for (; count > kWidth; count -= kWidth, from += kWidth, to += kWidth) store(load(from), to);
  if (count > 0) Part(count).store(load(from), to);
}

// Positions of all rows: those between rows are left out.
template <int kRows, int kVectors>
void put_rows(const WindowSpec& spec, const float (&sums)[kRows][(kVectors + 1) * kWidth], const Tile& tile,
              float* out) {
  const int64_t end = tile.position + (kVectors - 1) * kWidth + tile.last;
  int64_t y = tile.position / spec.row, x = tile.position - y * spec.row;
  for (int64_t position = tile.position; position < end; ++y, x = 0) {
    const int64_t count = least(spec.out_columns - x, end - position);
    for (int r = 0; r < kRows && count > 0; ++r) {
      copy_some(sums[r] + (position - tile.position), count, out + r * spec.out_channel + y * spec.out_row + x);
    }
    position += spec.row - x;
  }
}

struct Range {
  int64_t first, last;
};

// The first and every other element of two vectors.
STATOR_INLINE Lanes every_other(Lanes low, Lanes high) {
#if defined(CPU_CAPABILITY_AVX512)
  return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(CPU_CAPABILITY_AVX2)
  return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(low, high, 0, 2, 4, 6);
#endif
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
  for (; leap == 1 && i + kWidth <= end; i += kWidth, from += kWidth) store(load(from), out + i);
  // One more than these is there, so that the last vector ends within the row.
  for (; leap == 2 && i + kWidth < end; i += kWidth, from += 2 * kWidth)
    store(every_other(load(from), load(from + kWidth)), out + i);
  for (; i < end; ++i, from += leap) out[i] = *from;
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
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
