#include "plan/product.h"

#include <algorithm>
#include <cmath>

#include "kernels/dispatch.h"
#include "plan/panels.h"
#include "plan/parts.h"

namespace stator {
namespace {

// Up to here these kernels are faster than MKL's, or equal, on one thread: 1.5 to 5 times up to 32x256x256, 1.2 at 64x512x512, 1.1 at
// 128x1024x1024; at 1024x1024x1024 0.85, where MKL packs both factors.
constexpr int64_t kMostMultiplications = int64_t{1} << 27;
// One row times more weights than a cache holds waits for memory, whoever does it; then packing only takes memory.
constexpr int64_t kMostWeights = int64_t{1} << 22;

// The steps along the outer dimensions of the result, 0 where `m` has one matrix for all. False if it has not the right sizes.
bool outer_steps(const Matrices& m, const Matrices& c, at::DimVector& steps) {
  const int64_t missing = c.dim() - m.dim();
  if (missing < 0) return false;
  for (int64_t d = 0; d < c.dim() - 2; ++d) {
    const bool one = d < missing || m.sizes[d - missing] == 1;
    if (!one && m.sizes[d - missing] != c.sizes[d]) return false;
    steps.push_back(one ? 0 : m.strides[d - missing]);
  }
  return true;
}

// Outer dimensions of all operands together.
struct Outer {
  at::DimVector sizes, a, b, c, bias;

  std::array<at::DimVector*, 4> steps() { return {&a, &b, &c, &bias}; }
  // Dimension d and d + 1 are one.
  bool joins(size_t d) {
    for (at::DimVector* step : steps()) {
      if ((*step)[d] != (*step)[d + 1] * sizes[d + 1]) return false;
    }
    return true;
  }
  void erase(size_t d) {
    sizes.erase(sizes.begin() + d);
    for (at::DimVector* step : steps()) step->erase(step->begin() + d);
  }
  void simplify() {
    for (size_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] == 1) erase(d);
    }
    for (size_t d = sizes.size(); d-- > 1;) {
      if (!joins(d - 1)) continue;
      sizes[d] *= sizes[d - 1];
      erase(d - 1);
    }
  }
};

bool outer_of(const Product& product, Outer& outer) {
  outer.sizes.assign(product.c.sizes.begin(), product.c.sizes.end() - 2);
  if (!outer_steps(product.a, product.c, outer.a) || !outer_steps(product.b, product.c, outer.b)) return false;
  if (!outer_steps(product.c, product.c, outer.c)) return false;
  if (!product.bias) outer.bias.assign(outer.sizes.size(), 0);
  if (product.bias && !outer_steps(*product.bias, product.c, outer.bias)) return false;
  outer.simplify();
  return true;
}

// Outer dimensions that the right factor does not have are rows.
void fold_into_rows(MatmulSpec& spec, Outer& outer) {
  while (!outer.sizes.empty() && outer.b.back() == 0) {
    const bool one = spec.rows == 1;
    if (!one && (outer.a.back() != spec.rows * spec.a_row || outer.c.back() != spec.rows * spec.c_row)) return;
    if (!one && outer.bias.back() != spec.rows * spec.bias_row) return;
    if (one) {
      spec.a_row = outer.a.back();
      spec.c_row = outer.c.back();
      spec.bias_row = outer.bias.back();
    }
    spec.rows *= outer.sizes.back();
    outer.erase(outer.sizes.size() - 1);
  }
}

bool set_outer(MatmulSpec& spec, const Outer& outer) {
  const size_t count = outer.sizes.size();
  if (count > 2) return false;
  for (size_t i = 0; i < count; ++i) {
    const size_t to = 2 - count + i;
    spec.batches[to] = outer.sizes[i];
    spec.a_batch[to] = outer.a[i];
    spec.b_batch[to] = outer.b[i];
    spec.c_batch[to] = outer.c[i];
    spec.bias_batch[to] = outer.bias[i];
  }
  return true;
}

// The transposed product, if the result has contiguous columns instead of rows, or is one column.
void prefer_rows(Product& product) {
  const Matrices& c = product.c;
  const bool column =
      c.columns() == 1 && !product.bias && (c.rows() == 1 || c.strides[c.dim() - 2] == 1) && product.a.column() != 1;
  if (!column && (c.column() == 1 || c.row() != 1)) return;
  std::swap(product.a_view, product.b_view);
  const Matrices a = product.a;
  product.a = transposed(product.b);
  product.b = transposed(a);
  product.c = transposed(product.c);
  if (product.bias) product.bias = transposed(*product.bias);
}

double multiplications(const MatmulSpec& spec) {
  return static_cast<double>(spec.batches[0]) * spec.batches[1] * spec.rows * spec.columns * spec.depth;
}

std::optional<MatmulSpec> spec_of(Product& product) {
  prefer_rows(product);
  const Matrices &a = product.a, &b = product.b, &c = product.c;
  if (a.columns() != b.rows() || c.rows() != a.rows() || c.columns() != b.columns() || c.column() != 1)
    return std::nullopt;
  MatmulSpec spec;
  spec.rows = c.rows();
  spec.columns = c.columns();
  spec.depth = a.columns();
  spec.a_row = a.row();
  spec.a_step = a.column();
  spec.b_step = b.rows() == 1 ? 1 : b.strides[b.dim() - 2];
  spec.b_column = b.column();
  spec.c_row = c.row();
  if (product.bias) {
    const bool fits = product.bias->columns() == spec.columns && product.bias->column() == 1 &&
                      (product.bias->rows() == 1 || product.bias->rows() == spec.rows);
    if (!fits) return std::nullopt;
    spec.has_bias = true;
    spec.bias_row = product.bias->row();
  }
  Outer outer;
  if (!outer_of(product, outer)) return std::nullopt;
  fold_into_rows(spec, outer);
  if (!set_outer(spec, outer)) return std::nullopt;
  return spec;
}

bool is_large(const MatmulSpec& spec) {
  return multiplications(spec) > kMostMultiplications || spec.columns * spec.depth > kMostWeights;
}

std::optional<Panels> packed_weight(Binding& binding, const MatmulSpec& spec, const TensorView& view) {
  const at::Tensor* weight = binding.constant(view);
  if (!weight || spec.b_batch[0] != 0 || spec.b_batch[1] != 0) return std::nullopt;
  return packed_panels(binding, *weight, spec);
}

// Dot products read both factors along the sum and need nothing packed: best for one row or one column.
bool suits_dots(const MatmulSpec& spec) {
  return spec.a_step == 1 && spec.b_step == 1 && (spec.rows == 1 || spec.columns == 1);
}

// A bound product with its result elsewhere.
class ProductVariants final : public KernelVariants {
 public:
  // `bound`: the same after spec_of().
  ProductVariants(Product product, const Product& bound, bool takes_addend)
      : product_(std::move(product)), a_view_(bound.a_view), b_view_(bound.b_view), takes_addend_(takes_addend) {}

  std::shared_ptr<const void> placed(const void* specification, size_t write, const TensorMeta& to) const override {
    const auto& given = *static_cast<const MatmulSpec*>(specification);
    Product product = product_;
    product.c = as_result(to);
    const auto spec = bound_as_before(product);
    if (write != 0 || !spec) return nullptr;
    const bool has_addend = given.has_addend || given.has_bias != product_.bias.has_value();
    if (has_addend && !is_cut_alike(*spec, given)) return nullptr;
    auto placed = std::make_shared<MatmulSpec>(has_addend ? given : *spec);
    std::copy_n(spec->c_batch, 2, placed->c_batch);
    placed->c_row = spec->c_row;
    placed->relu = given.relu;
    placed->parts = given.parts;
    return placed;
  }

  // A bias, if it has none.
  std::shared_ptr<const void> added(const void* specification, const TensorMeta& addend) const override {
    const auto& given = *static_cast<const MatmulSpec*>(specification);
    if (given.relu || given.has_addend || (given.has_bias && !takes_addend_)) return nullptr;
    Product product = product_;
    product.bias = as_result(addend);
    const auto spec = bound_as_before(product);
    if (!spec || !is_cut_alike(*spec, given)) return nullptr;
    auto added = std::make_shared<MatmulSpec>(given);
    std::copy_n(spec->bias_batch, 2, given.has_bias ? added->addend_batch : added->bias_batch);
    (given.has_bias ? added->addend_row : added->bias_row) = spec->bias_row;
    (given.has_bias ? added->has_addend : added->has_bias) = true;
    return added;
  }

  std::shared_ptr<const void> clamped(const void* specification, float least, float most) const override {
    if (least != 0 || most != INFINITY) return nullptr;
    auto spec = std::make_shared<MatmulSpec>(*static_cast<const MatmulSpec*>(specification));
    spec->relu = true;
    return spec;
  }

 private:
  // What has the sizes of the result.
  Matrices as_result(const TensorMeta& meta) const {
    Matrices out = product_.c;
    for (size_t d = 0, at = 0; d < out.strides.size(); ++d) {
      if (out.sizes[d] == 1) continue;
      if (!product_.c_dims.empty()) at = product_.c_dims[d];
      while (meta.sizes[at] == 1) ++at;
      out.strides[d] = meta.strides[at++];
    }
    return out;
  }
  // If that does not exchange its factors.
  std::optional<MatmulSpec> bound_as_before(Product& product) const {
    const auto spec = spec_of(product);
    return spec && product.a_view == a_view_ && product.b_view == b_view_ ? spec : std::nullopt;
  }
  static bool is_cut_alike(const MatmulSpec& a, const MatmulSpec& b) {
    return a.rows == b.rows && std::equal(a.batches, a.batches + 2, b.batches);
  }

  Product product_;
  TensorView a_view_, b_view_;
  bool takes_addend_;
};

}  // namespace

Matrices transposed(Matrices m) {
  std::swap(m.sizes[m.sizes.size() - 1], m.sizes[m.sizes.size() - 2]);
  std::swap(m.strides[m.sizes.size() - 1], m.strides[m.sizes.size() - 2]);
  return m;
}

void insert_one(Matrices& m, int64_t place) {
  m.sizes.insert(m.sizes.begin() + place, 1);
  m.strides.insert(m.strides.begin() + place, 1);
}

BoundKernel bind_product_into(Binding& binding, Product& product, const TensorView& to) {
  auto spec = spec_of(product);
  if (!spec || (is_large(*spec) && !binding.beats_any_size())) return nullptr;
  spec->parts = binding.parts(multiplications(*spec) * kMultiplicationNanoseconds);
  const MatmulKernels& table = *kernels().matmul;
  BoundKernel kernel = nullptr;
  std::vector<TensorView> reads, writes;
  reads.reserve(3);
  reads.push_back(product.a_view);
  reads.push_back(product.b_view);
  writes.reserve(2);
  writes.push_back(to);
  const bool is_weight = binding.constant(product.b_view) != nullptr && spec->columns > 1;
  if (const auto weight = is_weight ? packed_weight(binding, *spec, product.b_view) : std::nullopt) {
    kernel = weight->product;
    reads[1] = weight->view;
  } else if (suits_dots(*spec)) {
    kernel = table.dots;
  } else if (spec->b_column == 1) {
    kernel = table.rows;
  } else {
    kernel = table.packing;
    writes.push_back(binding.scratch(at::kFloat, {packing_floats(*spec, table.panel)}));
  }
  if (product.bias_view) reads.push_back(*product.bias_view);
  binding.run_with(kernel, *spec, std::move(reads), std::move(writes));
  return kernel;
}

bool bind_product(Binding& binding, Product product, const TensorMeta& result) {
  const std::optional<Product> given = binding.takes_variants() ? std::optional(product) : std::nullopt;
  const BoundKernel kernel =
      bind_product_into(binding, product, binding.result(0, at::kFloat, result.sizes, result.strides));
  if (!kernel) return false;
  if (given)
    binding.can_also(std::make_shared<const ProductVariants>(*given, product, kernel != kernels().matmul->dots));
  return true;
}

const TensorView* float_tensor(const Binding& binding, size_t i, int64_t least_dim, int64_t most_dim) {
  const TensorView* view = binding.tensor(i);
  const bool fits =
      view && view->meta.dtype == at::kFloat && view->meta.dim() >= least_dim && view->meta.dim() <= most_dim;
  return fits && view->meta.numel() > 0 ? view : nullptr;
}

}  // namespace stator
