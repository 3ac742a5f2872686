// Matrix products: matmul.h says what each kernel takes. Compiled once per CPU capability.
#include "kernels/matmul.h"

#include "kernels/simd/matmul_tiles.h"

namespace stator::CPU_CAPABILITY {

extern const MatmulKernels matmul_kernels;

namespace {

struct Operands {
  const float *a, *b, *bias;
  float* c;
  float* scratch;
};

Operands operands_of(const MatmulSpec& spec, void* const* addresses) {
  Operands operands{};
  operands.a = static_cast<const float*>(*addresses++);
  operands.b = static_cast<const float*>(*addresses++);
  if (spec.has_bias) operands.bias = static_cast<const float*>(*addresses++);
  operands.c = static_cast<float*>(*addresses++);
  return operands;
}

// Calls f with the operands of each batch.
template <class F>
void for_each_batch(const MatmulSpec& spec, const Operands& operands, const F& f) {
  for (int64_t i = 0; i < spec.batches[0]; ++i) {
    Operands one = operands;
    one.a += i * spec.a_batch[0];
    one.b += i * spec.b_batch[0];
    one.c += i * spec.c_batch[0];
    if (one.bias) one.bias += i * spec.bias_batch[0];
    for (int64_t j = 0; j < spec.batches[1]; ++j) {
      f(one);
      one.a += spec.a_batch[1];
      one.b += spec.b_batch[1];
      one.c += spec.c_batch[1];
      if (one.bias) one.bias += spec.bias_batch[1];
    }
  }
}

void multiply_one(const MatmulSpec& spec, const Operands& one, const float* b, int64_t b_step, int64_t b_strip) {
  multiply({spec.rows, spec.columns, spec.depth, one.a, spec.a_row, spec.a_step, b, b_step, b_strip, one.c, spec.c_row,
            one.bias, spec.bias_row, spec.relu});
}

bool packed(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  const Operands operands = operands_of(spec, addresses);
  for_each_batch(spec, operands,
                 [&](const Operands& one) { multiply_one(spec, one, operands.b, kPanel, kPanel * spec.depth); });
  return true;
}

bool rows(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  for_each_batch(spec, operands_of(spec, addresses),
                 [&](const Operands& one) { multiply_one(spec, one, one.b, spec.b_step, kPanel); });
  return true;
}

bool packing(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  auto* panels = static_cast<float*>(addresses[spec.has_bias ? 4 : 3]);
  const float* packed_now = nullptr;
  for_each_batch(spec, operands_of(spec, addresses), [&](const Operands& one) {
    if (one.b != packed_now) pack_panels(one.b, spec.b_step, spec.b_column, spec.depth, spec.columns, panels);
    packed_now = one.b;
    multiply_one(spec, one, panels, kPanel, kPanel * spec.depth);
  });
  return true;
}

bool pack(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  pack_panels(static_cast<const float*>(addresses[0]), spec.b_step, spec.b_column, spec.depth, spec.columns,
              static_cast<float*>(addresses[1]));
  return true;
}

void finish(const MatmulSpec& spec, const Operands& one, int64_t row, int64_t column, float sum) {
  if (one.bias) sum += one.bias[row * spec.bias_row + column];
  one.c[row * spec.c_row + column] = spec.relu && sum < 0.0f ? 0.0f : sum;
}

// Eight dot products, kRows rows with kColumns columns. What lies outside is computed as what lies inside last, and not stored.
template <int kRows, int kColumns>
void dots_tile(const MatmulSpec& spec, const Operands& one, int64_t row, int64_t column) {
  const float *a[kRows], *b[kColumns];
  for (int r = 0; r < kRows; ++r) a[r] = one.a + least(row + r, spec.rows - 1) * spec.a_row;
  for (int c = 0; c < kColumns; ++c) b[c] = one.b + least(column + c, spec.columns - 1) * spec.b_column;
  Vec sums[8];
  const auto step = [&](int64_t k, int64_t count) __attribute__((always_inline)) {
    Vec left[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) left[r] = Vec::loadu(a[r] + k, count);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const Vec right = Vec::loadu(b[c] + k, count);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        sums[r * kColumns + c] = at::vec::fmadd(left[r], right, sums[r * kColumns + c]);
      }
    }
  };
  int64_t k = 0;
  for (; k + kWidth <= spec.depth; k += kWidth) step(k, kWidth);
  if (k < spec.depth) step(k, spec.depth - k);
  float out[8];
  sum_each_of_8(sums, out);
  const int64_t last_row = least(kRows, spec.rows - row), last_column = least(kColumns, spec.columns - column);
  for (int64_t r = 0; r < last_row; ++r) {
    for (int64_t c = 0; c < last_column; ++c) finish(spec, one, row + r, column + c, out[r * kColumns + c]);
  }
}

template <int kRows, int kColumns>
void dots_tiles(const MatmulSpec& spec, const Operands& one) {
  for (int64_t row = 0; row < spec.rows; row += kRows) {
    for (int64_t column = 0; column < spec.columns; column += kColumns) {
      dots_tile<kRows, kColumns>(spec, one, row, column);
    }
  }
}

float sum_of(const Vec& v) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
#if defined(CPU_CAPABILITY_AVX512)
  const __m512 all = v;
  const __m256 s8 = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
#else
  const __m256 s8 = v;
#endif
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
#else
  float elements[kWidth], sum = 0.0f;
  v.store(elements);
  for (int64_t j = 0; j < kWidth; ++j) sum += elements[j];
  return sum;
#endif
}

void dot(const MatmulSpec& spec, const Operands& one) {
  Vec sums[4];
  int64_t k = 0;
  for (; k + 4 * kWidth <= spec.depth; k += 4 * kWidth) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      sums[i] = at::vec::fmadd(Vec::loadu(one.a + k + i * kWidth), Vec::loadu(one.b + k + i * kWidth), sums[i]);
    }
  }
  for (; k + kWidth <= spec.depth; k += kWidth) {
    sums[0] = at::vec::fmadd(Vec::loadu(one.a + k), Vec::loadu(one.b + k), sums[0]);
  }
  if (const int64_t left = spec.depth - k; left > 0) {
    sums[1] = at::vec::fmadd(Vec::loadu(one.a + k, left), Vec::loadu(one.b + k, left), sums[1]);
  }
  finish(spec, one, 0, 0, sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

bool dots(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  for_each_batch(spec, operands_of(spec, addresses), [&](const Operands& one) {
    if (spec.rows == 1 && spec.columns == 1) return dot(spec, one);
    if (spec.columns == 1) return dots_tiles<8, 1>(spec, one);
    spec.rows == 1 ? dots_tiles<1, 8>(spec, one) : dots_tiles<2, 4>(spec, one);
  });
  return true;
}

}  // namespace

const MatmulKernels matmul_kernels{kPanel, packed, rows, dots, packing, pack};

}  // namespace stator::CPU_CAPABILITY
