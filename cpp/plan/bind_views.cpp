// Pointwise operators on views of their arguments: outer products, differences of neighbours, triangles of matrices.
#include <ATen/ops/ones.h>

#include "plan/collapse.h"
#include "plan/rearrange.h"

namespace stator {
namespace {

// (self, vec2): each element of one by each of the other.
bool bind_outer(Binding& binding) {
  const TensorView *self = binding.tensor(0), *other = binding.tensor(1);
  if (!self || !other || self->meta.dim() != 1 || other->meta.dim() != 1 || self->meta.dtype != other->meta.dtype)
    return false;
  const auto result = result_like_observed(binding);
  if (!result || result->meta.dtype != self->meta.dtype || !c10::isFloatingType(self->meta.dtype)) return false;
  TensorView column = *self;
  column.meta.sizes.push_back(1);
  column.meta.strides.push_back(0);
  TileExpression expression(result->meta.sizes);
  const auto product = expression.op(TileOpcode::kMul, expression.load(column), expression.load(*other));
  expression.store(expression.rounded(product, result->meta.dtype), *result);
  binding.run(std::move(expression));
  return true;
}

// (self, n, dim, prepend, append): of each element and the one before it.
bool bind_diff(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* times = binding.known(1);
  if (!self || !times || !times->isInt() || times->toInt() != 1 || !c10::isFloatingType(self->meta.dtype)) return false;
  const auto dim = wrapped_dim(binding.known(2), self->meta.dim());
  if (!dim || !is_none(binding.known(3)) || !is_none(binding.known(4)) || self->meta.sizes[*dim] < 2) return false;
  const auto result = result_like_observed(binding);
  if (!result || result->meta.dtype != self->meta.dtype) return false;
  const int64_t count = self->meta.sizes[*dim] - 1;
  TileExpression expression(result->meta.sizes);
  const auto later = expression.load(part(*self, *dim, 1, count)),
             earlier = expression.load(part(*self, *dim, 0, count));
  expression.store(expression.rounded(expression.op(TileOpcode::kSub, later, earlier), self->meta.dtype), *result);
  binding.run(std::move(expression));
  return true;
}

// (self, diagonal): what is on the other side of the diagonal becomes 0.
template <bool kLower>
bool bind_triangle(Binding& binding) {
  constexpr int64_t kMostElements = int64_t{1} << 16;
  const TensorView* self = binding.tensor(0);
  const c10::IValue* diagonal = binding.known(1);
  if (!self || self->meta.dim() < 2 || !diagonal || !diagonal->isInt() || !tile_type(self->meta.dtype)) return false;
  const at::IntArrayRef matrix = at::IntArrayRef(self->meta.sizes).slice(self->meta.dim() - 2, 2);
  if (matrix[0] * matrix[1] > kMostElements) return false;
  const auto result = result_like_observed(binding);
  if (!result || result->meta.dtype != self->meta.dtype) return false;
  const at::Tensor all = at::ones(matrix, at::kBool);
  const TensorView kept = binding.keep(kLower ? all.tril(diagonal->toInt()) : all.triu(diagonal->toInt()));
  const TileType type = *tile_type(self->meta.dtype);
  TileExpression expression(self->meta.sizes);
  const auto zero = type == TileType::kInt ? expression.number(int64_t{0}, type) : expression.number(0.0, type);
  expression.store(expression.op(TileOpcode::kWhere, expression.load(kept), expression.load(*self), zero), *result);
  binding.run(std::move(expression));
  return true;
}

const BinderRegistration kOuter("aten::outer", bind_outer);
const BinderRegistration kDiff("aten::diff", bind_diff);
const BinderRegistration kTril("aten::tril", bind_triangle<true>);
const BinderRegistration kTriu("aten::triu", bind_triangle<false>);

}  // namespace
}  // namespace stator
