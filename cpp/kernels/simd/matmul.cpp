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

template <Last kLast>
void multiply_one(const MatmulSpec& spec, const Operands& one, const float* b, int64_t b_step, int64_t b_panel) {
  multiply<kLast>({spec.rows, spec.columns, spec.depth, one.a, spec.a_row, spec.a_step, b, b_step, b_panel, one.c,
                   spec.c_row, one.bias, spec.bias_row, spec.relu});
}

bool packed(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  const Operands operands = operands_of(spec, addresses);
  for_each_batch(spec, operands, [&](const Operands& one) {
    multiply_one<Last::kPartOfPanel>(spec, one, operands.b, kPanel, kPanel * spec.depth);
  });
  return true;
}

bool rows(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  for_each_batch(spec, operands_of(spec, addresses),
                 [&](const Operands& one) { multiply_one<Last::kPart>(spec, one, one.b, spec.b_step, kPanel); });
  return true;
}

bool packing(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  auto* panels = static_cast<float*>(addresses[spec.has_bias ? 4 : 3]);
  const float* packed_now = nullptr;
  for_each_batch(spec, operands_of(spec, addresses), [&](const Operands& one) {
    if (one.b != packed_now) pack_panels(one.b, spec.b_step, spec.b_column, spec.depth, spec.columns, panels);
    packed_now = one.b;
    multiply_one<Last::kPartOfPanel>(spec, one, panels, kPanel, kPanel * spec.depth);
  });
  return true;
}

bool pack(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  pack_panels(static_cast<const float*>(addresses[0]), spec.b_step, spec.b_column, spec.depth, spec.columns,
              static_cast<float*>(addresses[1]));
  return true;
}

// c = sums (+ bias) (then ReLU) for `count` of at most kMost neighbours in c.
template <int kMost>
void finish(const float* sums, int64_t count, const float* bias, int64_t bias_step, bool relu, float* c) {
  float out[kMost];
  for (int i = 0; i < kMost; ++i) out[i] = sums[i];
  if (bias) {
    for (int64_t i = 0; i < kMost && i < count; ++i) out[i] += bias[i * bias_step];
  }
  if (relu) {
    for (int i = 0; i < kMost; ++i) out[i] = out[i] < 0.0f ? 0.0f : out[i];
  }
  if (count >= kMost) {
    for (int i = 0; i < kMost; ++i) c[i] = out[i];
  } else {
    for (int64_t i = 0; i < count; ++i) c[i] = out[i];
  }
}

template <int kRows, int kColumns>
void finish_dots(const MatmulSpec& spec, const Operands& one, int64_t row, int64_t column, const float (&sums)[8]) {
  const int64_t rows = least(kRows, spec.rows - row), columns = least(kColumns, spec.columns - column);
  const float* bias = one.bias ? one.bias + row * spec.bias_row + column : nullptr;
  float* c = one.c + row * spec.c_row + column;
  if (kColumns == 1 && spec.c_row == 1) return finish<kRows>(sums, rows, bias, spec.bias_row, spec.relu, c);
  for (int64_t r = 0; r < rows; ++r) {
    finish<kColumns>(sums + r * kColumns, columns, bias ? bias + r * spec.bias_row : nullptr, 1, spec.relu,
                     c + r * spec.c_row);
  }
}

// Eight dot products, kRows rows with kColumns columns. What lies outside is computed as what lies inside last, and not stored.
template <int kRows, int kColumns>
void dots_tile(const MatmulSpec& spec, const Operands& one, int64_t row, int64_t column) {
  const float *a[kRows], *b[kColumns];
  each<kRows>([&](auto r) { a[r.value] = one.a + least(row + r.value, spec.rows - 1) * spec.a_row; });
  each<kColumns>([&](auto c) { b[c.value] = one.b + least(column + c.value, spec.columns - 1) * spec.b_column; });
  Lanes sums[8];
  each<8>([&](auto i) { sums[i.value] = Lanes{}; });
  const auto add = [&](int64_t k, const auto& loaded) __attribute__((always_inline)) {
    Lanes left[kRows];
    each<kRows>([&](auto r) __attribute__((always_inline)) { left[r.value] = loaded(a[r.value] + k); });
    each<kColumns>([&](auto c) __attribute__((always_inline)) {
      const Lanes right = loaded(b[c.value] + k);
      each<kRows>([&](auto r) __attribute__((always_inline)) {
        constexpr int kSum = r.value * kColumns + c.value;
        sums[kSum] = fused(left[r.value], right, sums[kSum]);
      });
    });
  };
  int64_t k = 0;
  for (; k + kWidth <= spec.depth; k += kWidth) {
    add(k, [](const float* from) __attribute__((always_inline)) { return load(from); });
  }
  if (k < spec.depth) {
    const Part part(spec.depth - k);
    add(k, [&](const float* from) __attribute__((always_inline)) { return part.load(from); });
  }
  float out[8];
  sum_each_of_8(sums, out);
  finish_dots<kRows, kColumns>(spec, one, row, column, out);
}

template <int kRows, int kColumns>
void dots_tiles(const MatmulSpec& spec, const Operands& one) {
  for (int64_t row = 0; row < spec.rows; row += kRows) {
    for (int64_t column = 0; column < spec.columns; column += kColumns) {
      dots_tile<kRows, kColumns>(spec, one, row, column);
    }
  }
}

void dot(const MatmulSpec& spec, const Operands& one) {
  Lanes sums[4] = {};
  int64_t k = 0;
  for (; k + 4 * kWidth <= spec.depth; k += 4 * kWidth) {
    each<4>([&](auto i) __attribute__((always_inline)) {
      const int64_t at = k + i.value * kWidth;
      sums[i.value] = fused(load(one.a + at), load(one.b + at), sums[i.value]);
    });
  }
  for (; k + kWidth <= spec.depth; k += kWidth) sums[0] = fused(load(one.a + k), load(one.b + k), sums[0]);
  if (k < spec.depth) {
    const Part part(spec.depth - k);
    sums[1] = fused(part.load(one.a + k), part.load(one.b + k), sums[1]);
  }
  float sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (one.bias) sum += *one.bias;
  *one.c = spec.relu && sum < 0.0f ? 0.0f : sum;
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
