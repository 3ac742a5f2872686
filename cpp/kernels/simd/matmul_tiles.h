// What kernels with matrix products in them share: tiles of c that live in registers, and panels of b.
// Everything here is of one file and one capability.
#pragma once

#include "kernels/simd/lanes.h"

namespace stator::CPU_CAPABILITY {
namespace {

constexpr int64_t kPanel = 2 * kWidth;
// With a panel's width: 12 sums in the 16 registers that there are before AVX-512, then 24 in 32: so b is read half as often.
constexpr int64_t kTileRows = kWidth == 16 ? 12 : 6;
// Longer sums are made of sums of about as many terms: a panel of b stays in the first level cache, and rounding errors stay small.
constexpr int64_t kDepthBlock = 384;
// As many rows of a stay in the second level cache while the panels pass by.
constexpr int64_t kRowBlock = 96;

// Some rows of a times a strip of b's columns, which are of type B.
template <class B>
struct Strip {
  const float* a;
  int64_t a_row, a_step;
  const B* b;
  int64_t b_step, b_panel;  // b_panel: from a panel of columns to the next
  bool fetched;             // all of b has just been read, for other rows, or nothing lies behind it
  int64_t depth;
  float* c;
  int64_t c_row;
  const float* bias;  // added, NULL if nothing is: the bias, or what c has from an earlier part of the sum
  int64_t bias_row;
  const float* addend;  // added after it, or NULL
  int64_t addend_row;
  bool relu;
  int64_t last;  // columns of the strip's last vector
};

// From so many rows on there is time to ask for b before it is wanted. With fewer a tile does little but read b, and asking takes as long again.
constexpr int64_t kFewestRowsToFetch = kTileRows * 2 / 3;
constexpr int64_t kCacheLine = 64;

// How the last vector of a strip is used: all of it, or a part with the missing columns of b there (a panel) or not.
enum class Last { kAll, kPartOfPanel, kPart };

// What becomes of the sums of a tile.
template <int kRows, int kAcross, Last kLast, class B>
STATOR_INLINE void finish_tile(const Strip<B>& strip, Lanes (&sums)[kRows * kAcross], const Part& part) {
  constexpr auto kIsInPart = [](int vector) { return kLast != Last::kAll && vector == kAcross - 1; };
  const auto add = [&](const float* from, int64_t row) __attribute__((always_inline)) {
    each<kRows * kAcross>([&](auto i) __attribute__((always_inline)) {
      constexpr int kVector = i.value % kAcross;
      const float* addend = from + i.value / kAcross * row + kVector * kWidth;
      sums[i.value] += kIsInPart(kVector) ? part.load(addend) : load(addend);
    });
  };
  if (strip.bias) add(strip.bias, strip.bias_row);
  if (strip.addend) add(strip.addend, strip.addend_row);
  if (strip.relu) {
    each<kRows * kAcross>([&](auto i) __attribute__((always_inline)) { sums[i.value] = relu_of(sums[i.value]); });
  }
  float* const first = strip.c;
  const int64_t c_row = strip.c_row;
  each<kRows * kAcross>([&](auto i) __attribute__((always_inline)) {
    constexpr int kVector = i.value % kAcross;
    float* c = first + i.value / kAcross * c_row + kVector * kWidth;
    kIsInPart(kVector) ? part.store(sums[i.value], c) : store(sums[i.value], c);
  });
}

// kUnroll independent sums for each element of c where it takes them to hide the latency of an addition.
template <int kRows, int kPanels, int kVectors, Last kLast, class B>
void multiply_tile(const Strip<B>& strip) {
  constexpr int kAcross = kPanels * kVectors, kSums = kRows * kAcross;
  constexpr int kUnroll = kSums >= 8 ? 1 : kSums >= 4 ? 2 : 4;
  const Part part(kLast == Last::kAll ? kWidth : strip.last);
  const int64_t a_row = strip.a_row, a_step = strip.a_step, b_step = strip.b_step, b_panel = strip.b_panel;
  const float* a = strip.a;
  const B* b = strip.b;
  const int64_t ahead = strip.fetched ? 0 : kPanels * b_panel;  // there lies what is wanted next: it is fetched
  Lanes sums[kUnroll][kSums];
  each<kUnroll * kSums>([&](auto i)
                            __attribute__((always_inline)) { sums[i.value / kSums][i.value % kSums] = Lanes{}; });
  const auto step = [&](Lanes(&sum)[kSums]) __attribute__((always_inline)) {
    Lanes right[kAcross];
    each<kAcross>([&](auto v) __attribute__((always_inline)) {
      const B* from = b + v.value / kVectors * b_panel + v.value % kVectors * kWidth;
      if constexpr (kLast == Last::kPart && v.value == kAcross - 1) {
        right[v.value] = part.load(from);
      } else {
        right[v.value] = load(from);
        constexpr bool kNewLine = v.value * kWidth * sizeof(B) % kCacheLine == 0;
        if constexpr (kRows >= kFewestRowsToFetch && kNewLine) __builtin_prefetch(from + ahead, 0, 2);
      }
    });
    each<kSums>([&](auto i) __attribute__((always_inline)) {
      sum[i.value] = fused(all_lanes(a[i.value / kAcross * a_row]), right[i.value % kAcross], sum[i.value]);
    });
    a += a_step;
    b += b_step;
  };
  int64_t k = strip.depth;
  for (; k >= kUnroll; k -= kUnroll) {
    each<kUnroll>([&](auto u) __attribute__((always_inline)) { step(sums[u.value]); });
  }
  for (; kUnroll > 1 && k > 0; --k) step(sums[0]);
  each<kUnroll / 2>([&](auto u) __attribute__((always_inline)) {
    each<kSums>([&](auto i)
                    __attribute__((always_inline)) { sums[u.value][i.value] += sums[u.value + kUnroll / 2][i.value]; });
  });
  if constexpr (kUnroll == 4) {
    each<kSums>([&](auto i) __attribute__((always_inline)) { sums[0][i.value] += sums[1][i.value]; });
  }
  finish_tile<kRows, kAcross, kLast>(strip, sums[0], part);
}

template <int kVectors, Last kLast, class B>
void multiply_rows(const Strip<B>& strip, int64_t rows) {
  const auto tile = [&](auto height) __attribute__((always_inline)) {
    multiply_tile<least(height.value, kTileRows), 1, kVectors, kLast>(strip);
  };
  switch (rows) {
    case 1:
      return tile(Index<1>{});
    case 2:
      return tile(Index<2>{});
    case 3:
      return tile(Index<3>{});
    case 4:
      return tile(Index<4>{});
    case 5:
      return tile(Index<5>{});
    case 6:
      return tile(Index<6>{});
    case 7:
      return tile(Index<7>{});
    case 8:
      return tile(Index<8>{});
    case 9:
      return tile(Index<9>{});
    case 10:
      return tile(Index<10>{});
    case 11:
      return tile(Index<11>{});
    default:
      return tile(Index<12>{});
  }
}

// Any number of rows, in tiles of about equal height, times one strip of columns.
template <int kVectors, Last kLast, class B>
void multiply_strip(Strip<B> strip, int64_t rows) {
  if (rows <= kTileRows) return multiply_rows<kVectors, kLast>(strip, rows);
  for (int64_t tiles = quotient_up(rows, kTileRows); tiles > 0; --tiles) {
    const int64_t height = quotient_up(rows, tiles);
    multiply_rows<kVectors, kLast>(strip, height);
    strip.fetched = true;
    strip.a += height * strip.a_row;
    strip.c += height * strip.c_row;
    if (strip.bias) strip.bias += height * strip.bias_row;
    if (strip.addend) strip.addend += height * strip.addend_row;
    rows -= height;
  }
}

// As many columns as are best at once for so few rows. Returns how many there were.
template <Last kLast, class B>
int64_t multiply_strip(Strip<B>& strip, int64_t rows, int64_t columns) {
  if (rows == 1 && columns >= 4 * kPanel) return multiply_tile<1, 4, 2, Last::kAll>(strip), 4 * kPanel;
  if (rows == 2 && columns >= 2 * kPanel) return multiply_tile<2, 2, 2, Last::kAll>(strip), 2 * kPanel;
  if (rows == 3 && columns >= 2 * kPanel) return multiply_tile<3, 2, 2, Last::kAll>(strip), 2 * kPanel;
  if (columns >= kPanel) return multiply_strip<2, Last::kAll>(strip, rows), kPanel;
  strip.last = columns > kWidth ? columns - kWidth : columns;
  columns > kWidth ? multiply_strip<2, kLast>(strip, rows) : multiply_strip<1, kLast>(strip, rows);
  return columns;
}

// c = a b (+ bias) (+ addend) (then ReLU).
template <class B = float>
struct Product {
  int64_t rows, columns, depth;
  const float* a;
  int64_t a_row, a_step;
  const B* b;
  int64_t b_step, b_panel;  // b_panel: from a panel to the next, kPanel if b is a matrix with contiguous rows
  float* c;
  int64_t c_row;
  const float* bias = nullptr;
  int64_t bias_row = 0;
  const float* addend = nullptr;
  int64_t addend_row = 0;
  bool relu = false;
};

template <Last kLast, class B>
void multiply_block(const Product<B>& product, int64_t row, int64_t rows, int64_t step, int64_t depth) {
  Strip<B> strip{};
  strip.a = product.a + row * product.a_row + step * product.a_step;
  strip.a_row = product.a_row;
  strip.a_step = product.a_step;
  strip.b_step = product.b_step;
  strip.b_panel = product.b_panel;
  strip.depth = depth;
  strip.c_row = product.c_row;
  const bool is_last = step + depth == product.depth;
  strip.relu = product.relu && is_last;
  strip.addend_row = product.addend_row;
  const float* bias = product.bias ? product.bias + row * product.bias_row : nullptr;
  const float* addend = product.addend && is_last ? product.addend + row * product.addend_row : nullptr;
  for (int64_t column = 0; column < product.columns;) {
    strip.b = product.b + column / kPanel * product.b_panel + step * product.b_step;
    strip.c = product.c + row * product.c_row + column;
    strip.bias = step > 0 ? strip.c : bias ? bias + column : nullptr;
    strip.bias_row = step > 0 ? product.c_row : product.bias_row;
    if (addend) strip.addend = addend + column;
    strip.fetched = product.columns - column <= kPanel;
    column += multiply_strip<kLast>(strip, rows, product.columns - column);
  }
}

// The size of about equal parts that are no larger than `most`.
STATOR_INLINE int64_t part_of(int64_t size, int64_t most) {
  return size <= most ? size : quotient_up(size, quotient_up(size, most));
}

// kLast: kPartOfPanel or kPart.
template <Last kLast, class B>
void multiply(const Product<B>& product) {
  if (product.rows == 0) return;
  if (product.rows <= kRowBlock && product.depth <= kDepthBlock) {
    return multiply_block<kLast>(product, 0, product.rows, 0, product.depth);
  }
  const int64_t depth = part_of(product.depth, kDepthBlock), rows = part_of(product.rows, kRowBlock);
  for (int64_t row = 0; row < product.rows; row += rows) {
    const int64_t height = least(rows, product.rows - row);
    int64_t step = 0;
    do {
      multiply_block<kLast>(product, row, height, step, least(depth, product.depth - step));
      step += depth;
    } while (step < product.depth);
  }
}

// `columns` (at most kPanel) columns of b as one panel.
inline void pack_panel(const float* b, int64_t b_step, int64_t b_column, int64_t depth, int64_t columns, float* panel) {
  int64_t k = 0;
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  if (b_step == 1 && b_column != 1 && columns >= 8) {
    const int64_t eights = columns / 8 * 8;
    for (; k + 8 <= depth; k += 8) {
      for (int64_t n = 0; n < eights; n += 8) {
        transpose_8x8(b + n * b_column + k, b_column, panel + k * kPanel + n, kPanel);
      }
    }
    for (int64_t n = eights; n < kPanel; n += 8) {
      for (int64_t i = 0; i < k; ++i) _mm256_storeu_ps(panel + i * kPanel + n, _mm256_setzero_ps());
    }
    for (int64_t n = eights; n < columns; ++n) {
      for (int64_t i = 0; i < k; ++i) panel[i * kPanel + n] = b[n * b_column + i];
    }
  }
#endif
  for (; k < depth; ++k) {
    const float* from = b + k * b_step;
    float* row = panel + k * kPanel;
    if (b_column == 1 && columns == kPanel) {
      store(load(from), row);
      store(load(from + kWidth), row + kWidth);
      continue;
    }
    store(Lanes{}, row);
    store(Lanes{}, row + kWidth);
    for (int64_t n = 0; n < columns; ++n) row[n] = from[n * b_column];
  }
}

inline void pack_panels(const float* b, int64_t b_step, int64_t b_column, int64_t depth, int64_t columns,
                        float* panels) {
  for (int64_t column = 0; column < columns; column += kPanel) {
    pack_panel(b + column * b_column, b_step, b_column, depth, least(kPanel, columns - column), panels);
    panels += kPanel * depth;
  }
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
