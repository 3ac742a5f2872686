#include "plan/rearrange.h"

namespace stator {

std::optional<TensorView> result_like_observed(Binding& binding) {
  const TensorMeta* seen = binding.observed(0);
  if (!seen || !tile_type(seen->dtype) || seen->numel() == 0) return std::nullopt;
  return binding.result(0, seen->dtype, seen->sizes, seen->strides);
}

bool copy(Binding& binding, const TensorView& from, const TensorView& to) {
  if (from.meta.sizes != to.meta.sizes || from.meta.dtype != to.meta.dtype) return false;
  TileExpression expression(to.meta.sizes);
  expression.store(expression.load(from), to);
  binding.run(std::move(expression));
  return true;
}

TensorView part(TensorView view, int64_t dim, int64_t begin, int64_t size) {
  view.offset += begin * view.meta.strides[dim] * view.meta.itemsize();
  view.meta.sizes[dim] = size;
  return view;
}

TensorView turned(TensorView view, int64_t dim) {
  int64_t& stride = view.meta.strides[dim];
  view.offset += (view.meta.sizes[dim] - 1) * stride * view.meta.itemsize();
  stride = -stride;
  return view;
}

}  // namespace stator
