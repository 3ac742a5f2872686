// Operators that are matrix products.
#include "ops/short_loops.h"
#include "plan/product.h"

namespace stator {
namespace {

bool is_one(const Binding& binding, size_t i) {
  const c10::IValue* value = binding.known(i);
  return value && stator::is_one(*value);
}

constexpr int64_t kMostDims = 8;

bool bind_matmul(Binding& binding) {
  const TensorView *a = float_tensor(binding, 0, 1, kMostDims), *b = float_tensor(binding, 1, 1, kMostDims);
  const TensorMeta* result = binding.observed(0);
  if (!a || !b || !result) return false;
  const int64_t depth = a->meta.sizes.back(), b_dim = b->meta.dim();
  if (depth != b->meta.sizes[b_dim == 1 ? 0 : b_dim - 2]) return false;
  Product product{*a, *b, {}, matrices(a->meta), matrices(b->meta), matrices(*result), {}};
  if (b_dim == 1) {
    insert_one(product.b, 1);
    insert_one(product.c, product.c.dim());
  }
  if (a->meta.dim() == 1) {
    insert_one(product.a, 0);
    insert_one(product.c, product.c.dim() - 1);
  }
  return bind_product(binding, std::move(product), *result);
}

bool bind_mm(Binding& binding, int64_t dim) {
  const TensorView *a = float_tensor(binding, 0, dim, dim), *b = float_tensor(binding, 1, dim, dim);
  if (!a || !b || a->meta.sizes.back() != b->meta.sizes[dim - 2] ||
      (dim == 3 && a->meta.sizes[0] != b->meta.sizes[0])) {
    return false;
  }
  at::DimVector sizes = a->meta.sizes;
  sizes.back() = b->meta.sizes.back();
  const TensorMeta result = TensorMeta::contiguous(at::kFloat, sizes);
  return bind_product(binding, {*a, *b, {}, matrices(a->meta), matrices(b->meta), matrices(result), {}}, result);
}

// self + a b: arguments (self, a, b, beta, alpha).
bool bind_add_mm(Binding& binding, int64_t dim) {
  const TensorView *self = float_tensor(binding, 0, 1, dim), *a = float_tensor(binding, 1, dim, dim),
                   *b = float_tensor(binding, 2, dim, dim);
  if (!self || !a || !b || !is_one(binding, 3) || !is_one(binding, 4)) return false;
  if (a->meta.sizes.back() != b->meta.sizes[dim - 2] || (dim == 3 && a->meta.sizes[0] != b->meta.sizes[0]))
    return false;
  at::DimVector sizes = a->meta.sizes;
  sizes.back() = b->meta.sizes.back();
  const TensorMeta result = TensorMeta::contiguous(at::kFloat, sizes);
  Matrices bias = matrices(self->meta);
  if (bias.dim() == 1) insert_one(bias, 0);
  return bind_product(binding, {*a, *b, *self, matrices(a->meta), matrices(b->meta), matrices(result), bias}, result);
}

bool bind_linear(Binding& binding) {
  const TensorView *x = float_tensor(binding, 0, 1, kMostDims), *weight = float_tensor(binding, 1, 2, 2);
  const TensorView* bias = float_tensor(binding, 2, 1, 1);
  const bool no_bias = binding.known(2) && binding.known(2)->isNone();
  const TensorMeta* result = binding.observed(0);
  if (!x || !weight || !result || (!bias && !no_bias) || x->meta.sizes.back() != weight->meta.sizes[1]) return false;
  if (bias && bias->meta.sizes[0] != weight->meta.sizes[0]) return false;
  Product product{*x, *weight, {}, matrices(x->meta), transposed(matrices(weight->meta)), matrices(*result), {}};
  if (bias) {
    product.bias_view = *bias;
    product.bias = matrices(bias->meta);
    insert_one(*product.bias, 0);
  }
  if (x->meta.dim() == 1) {
    insert_one(product.a, 0);
    insert_one(product.c, 0);
  }
  return bind_product(binding, std::move(product), *result);
}

const BinderRegistration kProducts[] = {
    {"aten::linear", bind_linear},
    {"aten::matmul", bind_matmul},
    {"aten::mv", bind_matmul},
    {"aten::dot", bind_matmul},
    {"aten::mm", [](Binding& binding) { return bind_mm(binding, 2); }},
    {"aten::bmm", [](Binding& binding) { return bind_mm(binding, 3); }},
    {"aten::addmm", [](Binding& binding) { return bind_add_mm(binding, 2); }},
    {"aten::baddbmm", [](Binding& binding) { return bind_add_mm(binding, 3); }},
};

}  // namespace
}  // namespace stator
