// cat and stack: each input is copied to its place in the result, by steps that can be joined with what makes the input.
#include <algorithm>

#include "plan/binding.h"

namespace stator {
namespace {

bool copy_into(Binding& binding, const TensorView& from, const TensorView& to) {
  TileExpression expression(to.meta.sizes);
  expression.store(expression.cast(expression.load(from), from.meta.dtype, to.meta.dtype), to);
  binding.run(std::move(expression));
  return true;
}

// An input of one dimension and no elements may be among others.
bool is_skipped(const TensorView& view) { return view.meta.sizes == at::DimVector{0}; }

bool cat(Binding& binding, const std::vector<TensorView>& inputs, int64_t dim) {
  const TensorMeta* seen = binding.observed(0);
  if (!seen || !tile_type(seen->dtype) || seen->dim() == 0) return false;
  if (dim < 0) dim += seen->dim();
  std::vector<TensorView> results{binding.result(0, seen->dtype, seen->sizes, seen->strides)};
  if (const auto elsewhere = binding.result_elsewhere(0)) results.push_back(*elsewhere);
  int64_t at = 0;
  for (const TensorView& input : inputs) {
    if (is_skipped(input)) continue;
    if (input.meta.dim() != seen->dim() || !tile_type(input.meta.dtype)) return false;
    for (TensorView part : results) {
      part.offset += at * part.meta.strides[dim] * seen->itemsize();
      part.meta.sizes = input.meta.sizes;
      copy_into(binding, input, part);
    }
    at += input.meta.sizes[dim];
  }
  return at == seen->sizes[dim];
}

bool stack(Binding& binding, const std::vector<TensorView>& inputs, int64_t dim) {
  const TensorMeta* seen = binding.observed(0);
  if (!seen || !tile_type(seen->dtype)) return false;
  if (dim < 0) dim += seen->dim();
  const TensorView result = binding.result(0, seen->dtype, seen->sizes, seen->strides);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!tile_type(inputs[i].meta.dtype)) return false;
    TensorView part = result;
    part.offset += static_cast<int64_t>(i) * seen->strides[dim] * seen->itemsize();
    part.meta.sizes.erase(part.meta.sizes.begin() + dim);
    part.meta.strides.erase(part.meta.strides.begin() + dim);
    if (part.meta.sizes != inputs[i].meta.sizes) return false;
    copy_into(binding, inputs[i], part);
  }
  return true;
}

bool are_rows(const std::vector<TensorView>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const TensorView& input) { return input.meta.dim() == 1; });
}
bool have_dims(const std::vector<TensorView>& inputs, int64_t least) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const TensorView& input) { return input.meta.dim() >= least; });
}

// Side by side: what has one dimension along that.
bool bind_hstack(Binding& binding) {
  const auto inputs = binding.tensor_list(0);
  if (!inputs || inputs->empty()) return false;
  return are_rows(*inputs) ? cat(binding, *inputs, 0) : have_dims(*inputs, 2) && cat(binding, *inputs, 1);
}

// One upon another: what has one dimension is a row.
bool bind_vstack(Binding& binding) {
  const auto inputs = binding.tensor_list(0);
  if (!inputs || inputs->empty()) return false;
  return are_rows(*inputs) ? stack(binding, *inputs, 0) : have_dims(*inputs, 2) && cat(binding, *inputs, 0);
}

using Join = bool (*)(Binding&, const std::vector<TensorView>&, int64_t);

// (tensors, dim)
template <Join kJoin>
bool of_list(Binding& binding) {
  const auto inputs = binding.tensor_list(0);
  return inputs && binding.known(1) && kJoin(binding, *inputs, binding.known(1)->toInt());
}

// (tensor..., dim)
template <Join kJoin>
bool of_arguments(Binding& binding) {
  const size_t count = binding.node().inputs.size() - 1;
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < count; ++i) {
    if (!binding.tensor(i)) return false;
    inputs.push_back(*binding.tensor(i));
  }
  return binding.known(count) && kJoin(binding, inputs, binding.known(count)->toInt());
}

const BinderRegistration kCat("aten::cat", of_list<cat>);
const BinderRegistration kConcat("aten::concat", of_list<cat>);
const BinderRegistration kStack("aten::stack", of_list<stack>);
const BinderRegistration kHstack("aten::hstack", bind_hstack);
const BinderRegistration kVstack("aten::vstack", bind_vstack);
const BinderRegistration kVarCat("prim::VarCat", of_arguments<cat>);
const BinderRegistration kVarStack("prim::VarStack", of_arguments<stack>);

}  // namespace
}  // namespace stator
