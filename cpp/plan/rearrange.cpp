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

TensorView contiguous_copy(Binding& binding, const TensorView& view) {
  TensorView to = binding.scratch(view.meta.dtype, view.meta.sizes);
  copy(binding, view, to);
  return to;
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

bool spread(Binding& binding, const TensorView& self, int64_t first, int64_t last, int64_t times) {
  const auto result = result_like_observed(binding);
  if (!result || result->meta.dim() != self.meta.dim()) return false;
  Walk from(self), to(*result);
  for (int64_t d = 0; d < self.meta.dim(); ++d) {
    const int64_t size = self.meta.sizes[d], each = d < first || d >= last ? 1 : times;
    if (result->meta.sizes[d] != size * each) return false;
    from.dim(size, self.meta.strides[d]).dim(each, 0);
    to.dim(size, result->meta.strides[d] * each).dim(each, result->meta.strides[d]);
  }
  return copy(binding, from.view(), to.view());
}

}  // namespace stator
