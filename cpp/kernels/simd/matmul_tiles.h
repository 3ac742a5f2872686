// What kernels with matrix products in them share: tiles of c that live in registers, panels of b, dot products eight at a time.
// Everything here is of one file and one capability.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <cstdint>

namespace stator::CPU_CAPABILITY {
namespace {

using Vec = at::vec::Vectorized<float>;

constexpr int64_t kWidth = Vec::size();
constexpr int64_t kPanel = 2 * kWidth;
constexpr int64_t kTileRows = 6;  // with a panel's width: 12 accumulators of the 16 registers that AVX2 has
// Longer sums are made of sums of about as many terms: a panel of b stays in the first level cache, and rounding errors stay small.
constexpr int64_t kDepthBlock = 384;
// As many rows of a stay in the second level cache while the panels pass by.
constexpr int64_t kRowBlock = 96;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The first `count` of a vector's elements. Masked stores are slow on some CPUs that have no AVX-512, so they are put together there.
inline void store_first(const Vec& value, float* out, int64_t count) {
#if defined(CPU_CAPABILITY_AVX2)
  const __m256 all = value;
  __m128 rest = _mm256_castps256_ps128(all);
  if (count & 4) {
    _mm_storeu_ps(out, rest);
    out += 4;
    rest = _mm256_extractf128_ps(all, 1);
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(out), rest);
    out += 2;
    rest = _mm_movehl_ps(rest, rest);
  }
  if (count & 1) _mm_store_ss(out, rest);
#else
  value.store(out, count);
#endif
}

// Vectors of a row of c or b: full ones, but for the last if kTail.
template <int kVectors, bool kTail>
struct Columns {
  int64_t last;  // elements of the last vector, if kTail

  Vec load(const float* row, int i) const {
    return kTail && i == kVectors - 1 ? Vec::loadu(row + i * kWidth, last) : Vec::loadu(row + i * kWidth);
  }
  void store(float* row, int i, const Vec& value) const {
    if (kTail && i == kVectors - 1 && last < kWidth) {
      store_first(value, row + i * kWidth, last);
    } else {
      value.store(row + i * kWidth);
    }
  }
};

// Some rows of a times a strip of b's columns.
struct Strip {
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_step;
  int64_t depth;
  float* c;
  int64_t c_row;
  const float* bias;  // added, NULL if nothing is: the bias, or what c has from an earlier part of the sum
  int64_t bias_row;
  bool relu;
  int64_t last;  // columns of the strip's last vector
};

// kUnroll independent sums for each element of c where it takes them to hide the latency of an addition.
template <int kRows, int kVectors, bool kTail>
void multiply_tile(const Strip& strip) {
  constexpr int kUnroll = kRows * kVectors >= 8 ? 1 : kRows * kVectors >= 4 ? 2 : 4;
  const Columns<kVectors, kTail> columns{strip.last};
  const int64_t a_row = strip.a_row, a_step = strip.a_step, b_step = strip.b_step;
  const float *a = strip.a, *b = strip.b;
  Vec sums[kUnroll][kRows][kVectors];
  int64_t k = strip.depth;
  for (; k >= kUnroll; k -= kUnroll) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
      Vec right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) right[v] = columns.load(b, v);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const Vec left(a[r * a_row]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[u][r][v] = at::vec::fmadd(left, right[v], sums[u][r][v]);
      }
      a += a_step;
      b += b_step;
    }
  }
  for (; kUnroll > 1 && k > 0; --k, a += a_step, b += b_step) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const Vec right = columns.load(b, v);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) sums[0][r][v] = at::vec::fmadd(Vec(a[r * a_row]), right, sums[0][r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Vec sum = sums[0][r][v];
      if constexpr (kUnroll == 2) sum = sum + sums[1][r][v];
      if constexpr (kUnroll == 4) sum = (sum + sums[1][r][v]) + (sums[2][r][v] + sums[3][r][v]);
      if (strip.bias) sum = sum + columns.load(strip.bias + r * strip.bias_row, v);
      if (strip.relu) sum = at::vec::clamp_min(sum, Vec(0.0f));
      columns.store(strip.c + r * strip.c_row, v, sum);
    }
  }
}

template <int kVectors, bool kTail>
void multiply_rows(const Strip& strip, int64_t rows) {
  switch (rows) {
    case 1: return multiply_tile<1, kVectors, kTail>(strip);
    case 2: return multiply_tile<2, kVectors, kTail>(strip);
    case 3: return multiply_tile<3, kVectors, kTail>(strip);
    case 4: return multiply_tile<4, kVectors, kTail>(strip);
    case 5: return multiply_tile<5, kVectors, kTail>(strip);
    default: return multiply_tile<6, kVectors, kTail>(strip);
  }
}

// Any number of rows, in tiles of about equal height, times `columns` of b, at most a panel's.
template <int kVectors, bool kTail>
void multiply_strip(Strip strip, int64_t rows) {
  for (int64_t tiles = quotient_up(rows, kTileRows); tiles > 0; --tiles) {
    const int64_t height = quotient_up(rows, tiles);
    multiply_rows<kVectors, kTail>(strip, height);
    strip.a += height * strip.a_row;
    strip.c += height * strip.c_row;
    if (strip.bias) strip.bias += height * strip.bias_row;
    rows -= height;
  }
}

inline void multiply_strip(Strip& strip, int64_t rows, int64_t columns) {
  if (columns >= kPanel) return multiply_strip<2, false>(strip, rows);
  strip.last = columns > kWidth ? columns - kWidth : columns;
  columns > kWidth ? multiply_strip<2, true>(strip, rows) : multiply_strip<1, true>(strip, rows);
}

// c = a b (+ bias). b in strips of kPanel columns: panels, or the columns of a matrix with contiguous rows.
struct Product {
  int64_t rows, columns, depth;
  const float* a;
  int64_t a_row, a_step;
  const float* b;
  int64_t b_step, b_strip;
  float* c;
  int64_t c_row;
  const float* bias;
  int64_t bias_row;
  bool relu;
};

inline void multiply_block(const Product& product, int64_t row, int64_t rows, int64_t step, int64_t depth) {
  Strip strip{};
  strip.a_row = product.a_row;
  strip.a_step = product.a_step;
  strip.b_step = product.b_step;
  strip.depth = depth;
  strip.c_row = product.c_row;
  strip.relu = product.relu && step + depth == product.depth;
  const float* bias = product.bias ? product.bias + row * product.bias_row : nullptr;
  for (int64_t column = 0; column < product.columns; column += kPanel) {
    strip.a = product.a + row * product.a_row + step * product.a_step;
    strip.b = product.b + column / kPanel * product.b_strip + step * product.b_step;
    strip.c = product.c + row * product.c_row + column;
    strip.bias = step > 0 ? strip.c : bias ? bias + column : nullptr;
    strip.bias_row = step > 0 ? product.c_row : product.bias_row;
    multiply_strip(strip, rows, product.columns - column);
  }
}

inline void multiply(const Product& product) {
  const int64_t depth_blocks = product.depth > 0 ? quotient_up(product.depth, kDepthBlock) : 1;
  const int64_t depth = quotient_up(product.depth, depth_blocks);
  const int64_t row_blocks = quotient_up(product.rows, kRowBlock);
  const int64_t rows = row_blocks > 0 ? quotient_up(product.rows, row_blocks) : 0;
  for (int64_t row = 0; row < product.rows; row += rows) {
    for (int64_t block = 0; block < depth_blocks; ++block) {
      multiply_block(product, row, least(rows, product.rows - row), block * depth, least(depth, product.depth - block * depth));
    }
  }
}

#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
// out[j * out_row + i] = in[i * in_row + j], 8 by 8.
inline void transpose_8x8(const float* in, int64_t in_row, float* out, int64_t out_row) {
  __m256 r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    const __m256 top = _mm256_castps128_ps256(_mm_loadu_ps(in + i * in_row));
    r[i] = _mm256_insertf128_ps(top, _mm_loadu_ps(in + (i + 4) * in_row), 1);
    const __m256 right = _mm256_castps128_ps256(_mm_loadu_ps(in + i * in_row + 4));
    r[i + 4] = _mm256_insertf128_ps(right, _mm_loadu_ps(in + (i + 4) * in_row + 4), 1);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 8; half += 4) {
    t[half + 0] = _mm256_unpacklo_ps(r[half], r[half + 1]);
    t[half + 1] = _mm256_unpackhi_ps(r[half], r[half + 1]);
    t[half + 2] = _mm256_unpacklo_ps(r[half + 2], r[half + 3]);
    t[half + 3] = _mm256_unpackhi_ps(r[half + 2], r[half + 3]);
    _mm256_storeu_ps(out + (half + 0) * out_row, _mm256_shuffle_ps(t[half], t[half + 2], 0x44));
    _mm256_storeu_ps(out + (half + 1) * out_row, _mm256_shuffle_ps(t[half], t[half + 2], 0xEE));
    _mm256_storeu_ps(out + (half + 2) * out_row, _mm256_shuffle_ps(t[half + 1], t[half + 3], 0x44));
    _mm256_storeu_ps(out + (half + 3) * out_row, _mm256_shuffle_ps(t[half + 1], t[half + 3], 0xEE));
  }
}
#endif

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
    for (int64_t n = eights; n < kPanel; ++n) {
      for (int64_t i = 0; i < k; ++i) panel[i * kPanel + n] = n < columns ? b[n * b_column + i] : 0.0f;
    }
  }
#endif
  for (; k < depth; ++k) {
    const float* from = b + k * b_step;
    float* row = panel + k * kPanel;
    if (b_column == 1 && columns == kPanel) {
      Vec::loadu(from).store(row);
      Vec::loadu(from + kWidth).store(row + kWidth);
      continue;
    }
    for (int64_t n = 0; n < columns; ++n) row[n] = from[n * b_column];
    for (int64_t n = columns; n < kPanel; ++n) row[n] = 0.0f;
  }
}

inline void pack_panels(const float* b, int64_t b_step, int64_t b_column, int64_t depth, int64_t columns, float* panels) {
  for (int64_t column = 0; column < columns; column += kPanel) {
    pack_panel(b + column * b_column, b_step, b_column, depth, least(kPanel, columns - column), panels);
    panels += kPanel * depth;
  }
}

// The sums of the elements of eight vectors.
inline void sum_each_of_8(const Vec (&v)[8], float (&out)[8]) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  __m256 s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
#if defined(CPU_CAPABILITY_AVX512)
    const __m512 all = v[i];
    s[i] = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
#else
    s[i] = v[i];
#endif
  }
  const __m256 s0123 = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
  const __m256 s4567 = _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));
  const __m256 low = _mm256_permute2f128_ps(s0123, s4567, 0x20), high = _mm256_permute2f128_ps(s0123, s4567, 0x31);
  _mm256_storeu_ps(out, _mm256_add_ps(low, high));
#else
  for (int i = 0; i < 8; ++i) {
    float elements[kWidth];
    v[i].store(elements);
    out[i] = 0.0f;
    for (int64_t j = 0; j < kWidth; ++j) out[i] += elements[j];
  }
#endif
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
