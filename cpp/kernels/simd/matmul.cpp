// Matrix products: matmul.h says what each kernel takes. Compiled once per CPU capability.
#include "kernels/matmul.h"

#include "kernels/simd/matmul_tiles.h"
#include "kernels/simd/share.h"

namespace stator::CPU_CAPABILITY {

extern const MatmulKernels matmul_kernels;

namespace {

// Elements of b are of type B, all others float.
template <class B = float>
struct Operands {
  const float* a;
  const B* b;
  const float *bias, *addend;
  float* c;

  // To another batch. Steps are 0 where there is no operand.
  STATOR_INLINE void move(int64_t a_by, int64_t b_by, int64_t bias_by, int64_t addend_by, int64_t c_by) {
    a += a_by;
    b += b_by;
    bias += bias_by;
    addend += addend_by;
    c += c_by;
  }
};

template <class B = float>
Operands<B> operands_of(const MatmulSpec& spec, void* const* addresses) {
  Operands<B> operands{};
  operands.a = static_cast<const float*>(*addresses++);
  operands.b = static_cast<const B*>(*addresses++);
  if (spec.has_bias) operands.bias = static_cast<const float*>(*addresses++);
  if (spec.has_addend) operands.addend = static_cast<const float*>(*addresses++);
  operands.c = static_cast<float*>(*addresses++);
  return operands;
}

// Of batch i in the outer dimension, j in the inner one.
template <class B>
Operands<B> batch_of(const MatmulSpec& spec, Operands<B> operands, int64_t i, int64_t j) {
  const auto by = [&](const int64_t (&steps)[2]) { return i * steps[0] + j * steps[1]; };
  operands.move(by(spec.a_batch), by(spec.b_batch), by(spec.bias_batch), by(spec.addend_batch), by(spec.c_batch));
  return operands;
}

template <class B>
Operands<B> batch_of(const MatmulSpec& spec, const Operands<B>& operands, int64_t batch) {
  return batch_of(spec, operands, batch / spec.batches[1], batch % spec.batches[1]);
}

// Calls f with the operands of batches first .. last - 1.
template <class B, class F>
void for_batches(const MatmulSpec& spec, const Operands<B>& operands, int64_t first, int64_t last, const F& f) {
  const int64_t inner = spec.batches[1];
  int64_t i = first / inner, j = first % inner;
  for (int64_t batch = first; batch < last; ++i, j = 0) {
    Operands<B> one = batch_of(spec, operands, i, j);
    for (; j < inner && batch < last; ++j, ++batch) {
      f(one);
      one.move(spec.a_batch[1], spec.b_batch[1], spec.bias_batch[1], spec.addend_batch[1], spec.c_batch[1]);
    }
  }
}

// Of all batches.
template <class B, class F>
void for_each_batch(const MatmulSpec& spec, const Operands<B>& operands, const F& f) {
  const int64_t batches = spec.batches[0] * spec.batches[1];
  batches == 1 ? f(operands) : for_batches(spec, operands, 0, batches, f);
}

template <class B>
Product<B> product_of(const MatmulSpec& spec, const Operands<B>& one, int64_t b_step, int64_t b_panel) {
  return {spec.rows, spec.columns, spec.depth, one.a,    spec.a_row,    spec.a_step, one.b,           b_step,
          b_panel,   one.c,        spec.c_row, one.bias, spec.bias_row, one.addend,  spec.addend_row, spec.relu};
}

// How a product is cut into pieces that have the same sums as they have in the whole: into what multiply() takes one after the other.
struct Pieces {
  bool by_rows;  // else by columns
  int64_t size, count;
};

Pieces pieces_of(const MatmulSpec& spec) {
  const int64_t rows = part_of(spec.rows, kRowBlock), columns = spec.rows > 3 ? kPanel : 4 * kPanel;
  const int64_t row_pieces = quotient_up(spec.rows, rows), column_pieces = quotient_up(spec.columns, columns);
  if (row_pieces > column_pieces) return {true, rows, row_pieces};
  return {false, columns, column_pieces};
}

template <class B>
Product<B> rows_of(Product<B> product, int64_t row, int64_t rows) {
  product.rows = least(rows, product.rows - row);
  product.a += row * product.a_row;
  product.c += row * product.c_row;
  if (product.bias) product.bias += row * product.bias_row;
  if (product.addend) product.addend += row * product.addend_row;
  return product;
}

template <class B>
Product<B> columns_of(Product<B> product, int64_t column, int64_t columns) {
  product.columns = least(columns, product.columns - column);
  product.b += column / kPanel * product.b_panel;
  product.c += column;
  if (product.bias) product.bias += column;
  if (product.addend) product.addend += column;
  return product;
}

template <Last kLast, class B>
void multiply_pieces(const Product<B>& product, const Pieces& pieces, int64_t first, int64_t last) {
  if (!pieces.by_rows) return multiply<kLast>(columns_of(product, first * pieces.size, (last - first) * pieces.size));
  for (int64_t i = first; i < last; ++i) multiply<kLast>(rows_of(product, i * pieces.size, pieces.size));
}

// In parts.
template <Last kLast, class B>
void multiply_all(const MatmulSpec& spec, const Operands<B>& operands, int64_t b_step, int64_t b_panel) {
  if (spec.parts == 1 || spec.rows == 0) {
    return for_each_batch(spec, operands,
                          [&](const Operands<B>& one) { multiply<kLast>(product_of(spec, one, b_step, b_panel)); });
  }
  const Pieces pieces = pieces_of(spec);
  share_pieces(
      spec.parts, spec.batches[0] * spec.batches[1], pieces.count, [&](int64_t batch, int64_t first, int64_t last) {
        multiply_pieces<kLast>(product_of(spec, batch_of(spec, operands, batch), b_step, b_panel), pieces, first, last);
      });
}

template <class B>
bool packed(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  multiply_all<Last::kPartOfPanel>(spec, operands_of<B>(spec, addresses), kPanel, kPanel * spec.depth);
  return true;
}

bool rows(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  multiply_all<Last::kPart>(spec, operands_of(spec, addresses), spec.b_step, kPanel);
  return true;
}

// All matrices are packed first, so that their products are independent of each other.
void packing_in_parts(const MatmulSpec& spec, Operands<> operands, float* panels) {
  const int64_t across = quotient_up(spec.columns, kPanel), floats = across * kPanel * spec.depth;
  const int64_t inner = spec.b_batch[1] == 0 ? 1 : spec.batches[1], outer = spec.b_batch[0] == 0 ? 1 : spec.batches[0];
  share_pieces(spec.parts, outer * inner, across, [&](int64_t matrix, int64_t first, int64_t last) {
    const float* b = operands.b + matrix / inner * spec.b_batch[0] + matrix % inner * spec.b_batch[1];
    pack_panels(b + first * kPanel * spec.b_column, spec.b_step, spec.b_column, spec.depth,
                least(last * kPanel, spec.columns) - first * kPanel,
                panels + matrix * floats + first * kPanel * spec.depth);
  });
  MatmulSpec packed = spec;
  packed.b_batch[0] = outer == 1 ? 0 : inner * floats;
  packed.b_batch[1] = inner == 1 ? 0 : floats;
  operands.b = panels;
  multiply_all<Last::kPartOfPanel>(packed, operands, kPanel, kPanel * spec.depth);
}

bool packing(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  auto* panels = static_cast<float*>(addresses[3 + (spec.has_bias ? 1 : 0) + (spec.has_addend ? 1 : 0)]);
  if (spec.parts > 1) {
    packing_in_parts(spec, operands_of(spec, addresses), panels);
    return true;
  }
  const float* packed_now = nullptr;
  for_each_batch(spec, operands_of(spec, addresses), [&](const Operands<>& one) {
    if (one.b != packed_now) pack_panels(one.b, spec.b_step, spec.b_column, spec.depth, spec.columns, panels);
    packed_now = one.b;
    Operands<> with_panels = one;
    with_panels.b = panels;
    multiply<Last::kPartOfPanel>(product_of(spec, with_panels, kPanel, kPanel * spec.depth));
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
void finish_dots(const MatmulSpec& spec, const Operands<>& one, int64_t row, int64_t column, const float (&sums)[8]) {
  const int64_t rows = least(kRows, spec.rows - row), columns = least(kColumns, spec.columns - column);
  const float* bias = one.bias ? one.bias + row * spec.bias_row + column : nullptr;
  float* c = one.c + row * spec.c_row + column;
  if (kColumns == 1 && spec.c_row == 1) return finish<kRows>(sums, rows, bias, spec.bias_row, spec.relu, c);
  for (int64_t r = 0; r < rows; ++r) {
    finish<kColumns>(sums + r * kColumns, columns, bias ? bias + r * spec.bias_row : nullptr, 1, spec.relu,
                     c + r * spec.c_row);
  }
}

// add(k, how to load) for all vectors of a sum, the last of which may be a part.
template <class Add>
STATOR_INLINE void add_along(int64_t depth, const Add& add) {
  int64_t k = 0;
  for (; k + kWidth <= depth; k += kWidth) {
    add(k, [](const float* from) __attribute__((always_inline)) { return load(from); });
  }
  if (k == depth) return;
  const Part part(depth - k);
  add(k, [&](const float* from) __attribute__((always_inline)) { return part.load(from); });
}

// Eight dot products, kRows rows with kColumns columns. What lies outside is computed as what lies inside last, and not stored.
template <int kRows, int kColumns>
void dots_tile(const MatmulSpec& spec, const Operands<>& one, int64_t row, int64_t column) {
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
  add_along(spec.depth, add);
  float out[8];
  sum_each_of_8(sums, out);
  finish_dots<kRows, kColumns>(spec, one, row, column, out);
}

template <int kRows, int kColumns>
void dots_tiles(const MatmulSpec& spec, const Operands<>& one) {
  for (int64_t row = 0; row < spec.rows; row += kRows) {
    for (int64_t column = 0; column < spec.columns; column += kColumns) {
      dots_tile<kRows, kColumns>(spec, one, row, column);
    }
  }
}

void dot(const MatmulSpec& spec, const Operands<>& one) {
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

// Up to here a dot product takes as long for its end, the sum of a vector's elements, as for its terms.
constexpr int64_t kShortDot = 8 * kWidth;

// The only dot products of eight batches.
STATOR_INLINE void sums_of_eight(int64_t depth, const float* const (&a)[8], const float* const (&b)[8],
                                 float (&out)[8]) {
  Lanes sums[8];
  // By fours, whose addresses stay in registers.
  each<2>([&](auto half) __attribute__((always_inline)) {
    Lanes four[4];
    each<4>([&](auto i) __attribute__((always_inline)) { four[i.value] = Lanes{}; });
    add_along(depth, [&](int64_t k, const auto& loaded) __attribute__((always_inline)) {
      each<4>([&](auto i) __attribute__((always_inline)) {
        constexpr int kAt = 4 * half.value + i.value;
        four[i.value] = fused(loaded(a[kAt] + k), loaded(b[kAt] + k), four[i.value]);
      });
    });
    each<4>([&](auto i) __attribute__((always_inline)) { sums[4 * half.value + i.value] = four[i.value]; });
  });
  sum_each_of_8(sums, out);
}

// Of eight neighbours in the inner dimension of batches, of which those from `begin` on are stored.
void dots_of_neighbours(const MatmulSpec& spec, const Operands<>& first, int64_t begin) {
  const float *a[8], *b[8];
  each<8>([&](auto i) {
    a[i.value] = first.a + i.value * spec.a_batch[1];
    b[i.value] = first.b + i.value * spec.b_batch[1];
  });
  float out[8];
  sums_of_eight(spec.depth, a, b, out);
  if (first.bias) {
    for (int64_t i = begin; i < 8; ++i) out[i] += first.bias[i * spec.bias_batch[1]];
  }
  if (spec.relu) {
    for (float& sum : out) sum = sum < 0.0f ? 0.0f : sum;
  }
  for (int64_t i = begin; i < 8; ++i) first.c[i * spec.c_batch[1]] = out[i];
}

// Of eight batches, of which the first `count` are stored.
void dots_of_eight(const MatmulSpec& spec, const Operands<> (&of)[8], int64_t count) {
  const float *a[8], *b[8];
  each<8>([&](auto i) { a[i.value] = of[i.value].a, b[i.value] = of[i.value].b; });
  float out[8];
  sums_of_eight(spec.depth, a, b, out);
  for (int64_t i = 0; i < count; ++i) finish<1>(out + i, 1, of[i].bias, 0, spec.relu, of[i].c);
}

// Of batches first .. last - 1. The last eight neighbours overlap with those before them, rather than being fewer.
void dots_of_batches(const MatmulSpec& spec, const Operands<>& operands, int64_t first, int64_t last) {
  if (spec.batches[0] == 1 && last - first >= 8) {
    for (int64_t at = first; at < last; at += 8) {
      const int64_t start = least(at, last - 8);
      dots_of_neighbours(spec, batch_of(spec, operands, 0, start), at - start);
    }
    return;
  }
  Operands<> group[8];
  int64_t count = 0;
  for_batches(spec, operands, first, last, [&](const Operands<>& one) {
    group[count++] = one;
    if (count < 8) return;
    dots_of_eight(spec, group, count);
    count = 0;
  });
  if (count == 0) return;
  for (int64_t i = count; i < 8; ++i) group[i] = group[0];
  dots_of_eight(spec, group, count);
}

void dots_of_batches(const MatmulSpec& spec, const Operands<>& operands, int64_t batches) {
  share(spec.parts, quotient_up(batches, 8),
        [&](int64_t first, int64_t last) { dots_of_batches(spec, operands, 8 * first, least(8 * last, batches)); });
}

// For all of a product and for its pieces.
using Dots = void (*)(const MatmulSpec&, const Operands<>&);
Dots dots_for(const MatmulSpec& spec) {
  if (spec.rows == 1 && spec.columns == 1) return dot;
  if (spec.columns == 1) return dots_tiles<8, 1>;
  return spec.rows == 1 ? dots_tiles<1, 8> : dots_tiles<2, 4>;
}

// Pieces of whole tiles: eight rows, or eight columns of a single row.
void dots_in_parts(const MatmulSpec& spec, const Operands<>& operands, Dots dots) {
  const bool by_rows = spec.rows > 1;
  const int64_t size = by_rows ? spec.rows : spec.columns;
  share_pieces(spec.parts, spec.batches[0] * spec.batches[1], quotient_up(size, 8),
               [&](int64_t batch, int64_t first, int64_t last) {
                 MatmulSpec part = spec;
                 Operands<> one = batch_of(spec, operands, batch);
                 const int64_t begin = 8 * first;
                 (by_rows ? part.rows : part.columns) = least(8 * last, size) - begin;
                 one.a += by_rows ? begin * spec.a_row : 0;
                 one.b += by_rows ? 0 : begin * spec.b_column;
                 one.c += begin * (by_rows ? spec.c_row : 1);
                 if (one.bias) one.bias += begin * (by_rows ? spec.bias_row : 1);
                 dots(part, one);
               });
}

bool dots(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const MatmulSpec*>(specification);
  const Operands<> operands = operands_of(spec, addresses);
  const Dots dots = dots_for(spec);
  const int64_t batches = spec.batches[0] * spec.batches[1];
  if (dots == dot && batches > 1 && spec.depth <= kShortDot) {
    dots_of_batches(spec, operands, batches);
  } else if (spec.parts > 1) {
    dots_in_parts(spec, operands, dots);
  } else {
    for_each_batch(spec, operands, [&](const Operands<>& one) { dots(spec, one); });
  }
  return true;
}

}  // namespace

const MatmulKernels matmul_kernels{kPanel, packed<float>, packed<BFloat16>, packed<Half>, rows, dots, packing, pack};

}  // namespace stator::CPU_CAPABILITY
