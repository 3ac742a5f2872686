// Putting and adding elements by indices.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/full.h>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

BoundKernel kernel_of(at::ScalarType dtype, ScatterInto into) {
  const ScatterKernels& table = *kernels().scatter;
  switch (dtype) {
    case at::kFloat:
      return table.float32;
    case at::kDouble:
      return table.float64;
    case at::kLong:
      return table.int64;
    case at::kInt:
      return table.int32;
    case at::kBool:
    case at::kByte:
    case at::kChar:
      return into == ScatterInto::kPut ? table.bytes : nullptr;
    default:
      return nullptr;
  }
}

bool is_scatter_index(const TensorView* view) {
  return view && (view->meta.dtype == at::kLong || view->meta.dtype == at::kInt) && view->meta.numel() > 0;
}

// The same elements seen with the sizes that they broadcast to.
std::optional<TensorView> broadcast(TensorView view, at::IntArrayRef sizes) {
  if (!at::is_expandable_to(view.meta.sizes, sizes)) return std::nullopt;
  const auto expanded = at::inferExpandGeometry_dimvector(view.meta.sizes, view.meta.strides, sizes);
  view.meta.sizes = expanded.sizes;
  view.meta.strides = expanded.strides;
  return view;
}

// A number as what is put, or argument `i`.
std::optional<TensorView> given(Binding& binding, size_t i, at::ScalarType dtype) {
  if (const TensorView* view = binding.tensor(i))
    return view->meta.dtype == dtype ? std::optional(*view) : std::nullopt;
  const c10::IValue* number = binding.known(i);
  if (!number || !number->isScalar()) return std::nullopt;
  return binding.keep(at::full({}, number->toScalar(), at::TensorOptions(dtype)));
}

// Work that is worth sharing is LibTorch's: what comes to one index must come in its order.
bool is_little(Binding& binding, int64_t elements) {
  constexpr double kNanoseconds = 1;  // an element
  return binding.parts(static_cast<double>(elements) * kNanoseconds) == 1;
}

// Elements that lie otherwise than in runs are copied first.
TensorView in_runs(Binding& binding, const TensorView& from, int64_t dim) {
  if (collapse_around(from.meta, dim)) return from;
  const TensorView copy = binding.scratch(from.meta.dtype, from.meta.sizes);
  TileExpression expression(from.meta.sizes);
  expression.store(expression.load(from), copy);
  binding.run(std::move(expression));
  return copy;
}

// `index` and `from` go along dimension `dim` of argument 0, and are of one size; their other dimensions are its own.
bool scatter(Binding& binding, int64_t dim, const TensorView& index, const TensorView& given, ScatterInto into,
             bool negative = false) {
  const TensorView& self = *binding.tensor(0);
  const BoundKernel kernel = kernel_of(self.meta.dtype, into);
  if (!kernel || !self.meta.is_contiguous() || self.meta.numel() == 0 || index.meta.sizes != given.meta.sizes)
    return false;
  for (int64_t d = 0; d < self.meta.dim(); ++d) {
    if (d != dim && self.meta.sizes[d] != index.meta.sizes[d]) return false;
  }
  const auto kept = collapse_around(self.meta, dim), by = collapse_around(index.meta, dim);
  if (!kept || !by || !is_little(binding, self.meta.numel() + given.meta.numel())) return false;
  const TensorView from = in_runs(binding, given, dim);
  const auto put = collapse_around(from.meta, dim);
  const ScatterSpec spec{.outer = kept->outer.size,
                         .size = kept->dim.size,
                         .inner = kept->inner.size,
                         .count = by->dim.size,
                         .index_outer = by->outer.stride,
                         .index_stride = by->dim.stride,
                         .index_inner = by->inner.stride,
                         .from_outer = put->outer.stride,
                         .from_stride = put->dim.stride,
                         .from_inner = put->inner.stride,
                         .into = into,
                         .wide = index.meta.dtype == at::kLong,
                         .negative = negative};
  const TensorView result = binding.result(0, self.meta.dtype, self.meta.sizes);
  binding.run_with(kernel, spec, {self, index, from}, {result}, true);
  return true;
}

// (self, dim, index, src): an index for each element.
bool by_elements(Binding& binding, ScatterInto into) {
  const TensorView *self = binding.tensor(0), *index = binding.tensor(2);
  if (!self || !is_scatter_index(index) || index->meta.dim() != self->meta.dim()) return false;
  const auto dim = wrapped_dim(binding.known(1), self->meta.dim());
  auto from = given(binding, 3, self->meta.dtype);
  if (!dim || !from) return false;
  if (!binding.tensor(3)) from = broadcast(*from, index->meta.sizes);
  return from && self->meta.dim() > 0 && scatter(binding, *dim, *index, *from, into);
}

bool put_elements(Binding& binding) { return by_elements(binding, ScatterInto::kPut); }
bool add_elements(Binding& binding) { return by_elements(binding, ScatterInto::kAdd); }

// (self, dim, index, src, reduce, include_self); a mean needs to count.
bool reduce_elements(Binding& binding) {
  const c10::IValue* reduce = binding.known(4);
  if (!reduce || !reduce->isString() || known_bool(binding.known(5)) != true) return false;
  const std::string& name = reduce->toStringRef();
  if (name == "sum") return by_elements(binding, ScatterInto::kAdd);
  if (name == "prod") return by_elements(binding, ScatterInto::kMultiply);
  if (name == "amax") return by_elements(binding, ScatterInto::kGreatest);
  return name == "amin" && by_elements(binding, ScatterInto::kLeast);
}

// A list of indices of dimension `dim`, as what scatter() takes.
TensorView for_each_element(const TensorView& list, at::IntArrayRef sizes, int64_t dim) {
  TensorView each = list;
  each.meta.sizes = sizes;
  each.meta.sizes[dim] = list.meta.numel();
  each.meta.strides.assign(sizes.size(), 0);
  each.meta.strides[dim] = list.meta.dim() == 0 ? 1 : list.meta.strides[0];
  return each;
}

// (self, dim, index, source or number): an index for each slice along the dimension.
bool by_slices(Binding& binding, ScatterInto into) {
  const TensorView *self = binding.tensor(0), *index = binding.tensor(2);
  if (!self || !is_scatter_index(index) || index->meta.dim() > 1 || self->meta.dim() == 0) return false;
  const auto dim = wrapped_dim(binding.known(1), self->meta.dim());
  auto from = given(binding, 3, self->meta.dtype);
  if (!dim || !from) return false;
  const TensorView each = for_each_element(*index, self->meta.sizes, *dim);
  if (!binding.tensor(3)) from = broadcast(*from, each.meta.sizes);
  return from && scatter(binding, *dim, each, *from, into);
}

bool put_slices(Binding& binding) { return by_slices(binding, ScatterInto::kPut); }

bool add_slices(Binding& binding) {
  const c10::IValue* alpha = binding.known(4);
  return alpha && alpha->isScalar() && alpha->toScalar().equal(1) && by_slices(binding, ScatterInto::kAdd);
}

const BinderRegistration kPut("aten::scatter.src", put_elements);
const BinderRegistration kPutNumber("aten::scatter.value", put_elements);
const BinderRegistration kAdd("aten::scatter_add", add_elements);
const BinderRegistration kReduce("aten::scatter_reduce.two", reduce_elements);
const BinderRegistration kIndexAdd("aten::index_add", add_slices);
const BinderRegistration kIndexCopy("aten::index_copy", put_slices);
const BinderRegistration kIndexFill("aten::index_fill.int_Scalar", put_slices);

// ---- aten::index_put: x[indices] = values ----

// What is chosen by a mask is made one number.
bool put_where(Binding& binding, TensorView mask, const TensorView& value) {
  const TensorView& self = *binding.tensor(0);
  const TensorMeta* seen = binding.observed(0);
  if (value.meta.numel() != 1 || !seen || mask.meta.dim() > self.meta.dim() || !tile_type(self.meta.dtype))
    return false;
  for (int64_t d = 0; d < mask.meta.dim(); ++d) {
    if (mask.meta.sizes[d] != self.meta.sizes[d]) return false;
  }
  mask.meta.sizes.resize(self.meta.dim(), 1);
  mask.meta.strides.resize(self.meta.dim(), 0);
  TileExpression tile(self.meta.sizes);
  TensorView one = value;
  one.meta = {value.meta.dtype, {}, {}};
  tile.store(tile.op(TileOpcode::kWhere, tile.load(mask), tile.load(one), tile.load(self)),
             binding.result(0, self.meta.dtype, self.meta.sizes, seen->strides));
  binding.run(std::move(tile));
  return true;
}

// The only index there is, and the dimension that it is of.
std::optional<std::pair<TensorView, int64_t>> only_index(const Binding& binding) {
  const auto list = binding.optional_tensor_list(1);
  if (!list) return std::nullopt;
  std::optional<std::pair<TensorView, int64_t>> found;
  for (size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i] && found) return std::nullopt;
    if ((*list)[i]) found = {*(*list)[i], static_cast<int64_t>(i)};
  }
  return found;
}

// (self, indices, values, accumulate)
bool bind_index_put(Binding& binding) {
  const TensorView *self = binding.tensor(0), *values = binding.tensor(2);
  const auto index = only_index(binding);
  const auto accumulate = known_bool(binding.known(3));
  if (!self || !values || values->meta.dtype != self->meta.dtype || !index || !accumulate) return false;
  const auto& [by, dim] = *index;
  if (by.meta.dtype == at::kBool) return dim == 0 && !*accumulate && put_where(binding, by, *values);
  if (!is_scatter_index(&by) || by.meta.dim() > 1 || dim >= self->meta.dim()) return false;
  const TensorView each = for_each_element(by, self->meta.sizes, dim);
  at::DimVector picked = each.meta.sizes;
  const bool is_one = by.meta.dim() == 0;  // then what is picked is without this dimension
  if (is_one) picked.erase(picked.begin() + dim);
  auto from = broadcast(*values, picked);
  if (!from) return false;
  if (is_one) {
    from->meta.sizes.insert(from->meta.sizes.begin() + dim, 1);
    from->meta.strides.insert(from->meta.strides.begin() + dim, 0);
  }
  return scatter(binding, dim, each, *from, *accumulate ? ScatterInto::kAdd : ScatterInto::kPut, true);
}

const BinderRegistration kIndexPut("aten::index_put", bind_index_put);
const BinderRegistration kIndexPutTwin("aten::index_put.hacked_twin", bind_index_put);

}  // namespace
}  // namespace stator
