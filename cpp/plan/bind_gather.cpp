// Picking elements and rows by indices.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <limits>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

const GatherKernels& gather_table() { return *kernels().gather; }

bool is_integers(const TensorView* view) {
  return view && (view->meta.dtype == at::kLong || view->meta.dtype == at::kInt) && view->meta.numel() > 0;
}

// Contiguous int64 or int32, not empty.
bool is_indices(const TensorView* view) { return is_integers(view) && view->meta.is_contiguous(); }

// The same where they lie one after another, for kernels that walk them so.
TensorView in_a_row(Binding& binding, const TensorView& indices) {
  if (indices.meta.is_contiguous()) return indices;
  const TensorView copy = binding.scratch(indices.meta.dtype, indices.meta.sizes);
  TileExpression expression(indices.meta.sizes);
  expression.store(expression.load(indices), copy);
  binding.run(std::move(expression));
  return copy;
}

// In how many parts so many runs of so many bytes are picked.
int64_t parts_of(Binding& binding, int64_t runs, int64_t bytes) {
  constexpr double kRun = 2, kByte = 0.1;  // nanoseconds
  return binding.parts(static_cast<double>(runs) * (kRun + kByte * static_cast<double>(bytes)));
}

at::DimVector joined(at::IntArrayRef before, at::IntArrayRef middle, at::IntArrayRef after) {
  at::DimVector sizes(before);
  sizes.append(middle.begin(), middle.end());
  sizes.append(after.begin(), after.end());
  return sizes;
}

// The result's dimensions [first, first + picked) are those of the indices; it may lie anywhere with runs as neighbours in it.
template <class Spec>
void can_place_runs(Binding& binding, int64_t first, int64_t picked) {
  binding.can_place<Spec>([first, picked](Spec& spec, const TensorMeta& to) {
    const auto outer = collapse(to, 0, first), runs = collapse(to, first, first + picked),
               inner = collapse(to, first + picked, to.dim());
    if (!outer || !runs || !inner || !is_dense(*inner)) return false;
    spec.to_outer = outer->stride * to.itemsize();
    spec.to_stride = runs->stride * to.itemsize();
    return true;
  });
}

// Elements of dimension `dim` of `self` by indices, whose sizes replace that dimension's.
bool bind_pick(Binding& binding, const TensorView& self, int64_t dim, const TensorView& indices, bool negative) {
  if (self.meta.numel() == 0) return false;
  const auto around = collapse_around(self.meta, dim);
  if (!around || !is_dense(around->inner)) return false;
  const at::IntArrayRef sizes = self.meta.sizes;
  const at::DimVector picked = joined(sizes.slice(0, dim), indices.meta.sizes, sizes.slice(dim + 1));
  const int64_t bytes = self.meta.itemsize();
  PickRunsSpec spec{.outer = around->outer.size,
                    .size = around->dim.size,
                    .count = indices.meta.numel(),
                    .bytes = around->inner.size * bytes,
                    .outer_stride = around->outer.stride * bytes,
                    .stride = around->dim.stride * bytes,
                    .to_outer = indices.meta.numel() * around->inner.size * bytes,
                    .to_stride = around->inner.size * bytes,
                    .wide = indices.meta.dtype == at::kLong,
                    .negative = negative};
  spec.parts = parts_of(binding, spec.outer * spec.count, spec.bytes);
  const TensorView result = binding.result(0, self.meta.dtype, picked);
  binding.run_with(gather_table().pick_runs, spec, {self, indices}, {result}, true);
  can_place_runs<PickRunsSpec>(binding, dim, indices.meta.dim());
  return true;
}

bool bind_embedding(Binding& binding) {
  const TensorView *weight = binding.tensor(0), *indices = binding.tensor(1);
  if (!weight || weight->meta.dim() != 2 || !is_integers(indices)) return false;
  return bind_pick(binding, *weight, 0, in_a_row(binding, *indices), false);
}

bool bind_index_select(Binding& binding) {
  const TensorView *self = binding.tensor(0), *index = binding.tensor(2);
  if (!self || !is_integers(index) || index->meta.dim() > 1) return false;
  const auto dim = wrapped_dim(binding.known(1), self->meta.dim());
  if (!dim) return false;
  TensorView list = in_a_row(binding, *index);
  list.meta = TensorMeta::contiguous(index->meta.dtype, {index->meta.numel()});
  return bind_pick(binding, *self, *dim, list, false);
}

bool bind_take(Binding& binding) {
  const TensorView *self = binding.tensor(0), *index = binding.tensor(1);
  if (!self || !self->meta.is_contiguous() || !is_indices(index) || index->meta.dtype != at::kLong) return false;
  TensorView list = *self;
  list.meta = TensorMeta::contiguous(self->meta.dtype, {self->meta.numel()});
  return bind_pick(binding, list, 0, *index, true);
}

const BinderRegistration kEmbedding("aten::embedding", bind_embedding);
const BinderRegistration kIndexSelect("aten::index_select", bind_index_select);
const BinderRegistration kTake("aten::take", bind_take);

// ---- aten::index ----

// The dimensions [first, first + indices.size()) of self are picked from, by int64 tensors.
struct Indexed {
  TensorView self;
  int64_t first = 0;
  std::vector<TensorView> indices;
  at::DimVector broadcast;  // sizes of the indices together

  int64_t end() const { return first + static_cast<int64_t>(indices.size()); }
  int64_t count() const { return c10::multiply_integers(broadcast); }
};

std::optional<std::vector<std::optional<TensorView>>> index_list(const Binding& binding) {
  if (auto list = binding.optional_tensor_list(1)) return list;
  const auto list = binding.tensor_list(1);
  if (!list) return std::nullopt;
  return std::vector<std::optional<TensorView>>(list->begin(), list->end());
}

// Only indices side by side: others bring their dimensions to the front.
std::optional<Indexed> indexed(const Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const auto list = index_list(binding);
  if (!self || self->meta.numel() == 0 || !list || static_cast<int64_t>(list->size()) > self->meta.dim())
    return std::nullopt;
  Indexed result{*self, 0, {}, {}};
  size_t i = 0;
  for (; i < list->size() && !(*list)[i]; ++i) ++result.first;
  for (; i < list->size() && (*list)[i]; ++i) {
    const TensorView& index = *(*list)[i];
    if (index.meta.dtype != at::kLong || index.meta.numel() == 0) return std::nullopt;
    if (!at::are_expandable(result.broadcast, index.meta.sizes)) return std::nullopt;
    result.broadcast = at::infer_size_dimvector(result.broadcast, index.meta.sizes);
    result.indices.push_back(index);
  }
  for (; i < list->size(); ++i) {
    if ((*list)[i]) return std::nullopt;
  }
  if (result.indices.empty()) return std::nullopt;
  return result;
}

// What is the same for all ways to pick.
struct Around {
  Run outer, inner;
  at::DimVector sizes;
};

std::optional<Around> around(const Indexed& indexed) {
  const TensorMeta& meta = indexed.self.meta;
  const auto outer = collapse(meta, 0, indexed.first), inner = collapse(meta, indexed.end(), meta.dim());
  if (!outer || !inner || !is_dense(*inner)) return std::nullopt;
  const at::IntArrayRef sizes = meta.sizes;
  Around result{*outer, *inner, joined(sizes.slice(0, indexed.first), indexed.broadcast, sizes.slice(indexed.end()))};
  return result;
}

// Offsets in bytes, if all indices are constant and in range.
std::optional<at::Tensor> constant_offsets(const Binding& binding, const Indexed& indexed) {
  at::Tensor offsets = at::empty({indexed.count()}, at::kInt);
  std::vector<int64_t> sums(indexed.count(), 0);
  for (size_t k = 0; k < indexed.indices.size(); ++k) {
    const at::Tensor* constant = binding.constant(indexed.indices[k]);
    if (!constant) return std::nullopt;
    const at::Tensor index = constant->expand(indexed.broadcast).contiguous();
    const int64_t size = indexed.self.meta.sizes[indexed.first + k];
    const int64_t stride = indexed.self.meta.strides[indexed.first + k] * indexed.self.meta.itemsize();
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t at = index.const_data_ptr<int64_t>()[i];
      if (at < -size || at >= size) return std::nullopt;
      sums[i] += (at < 0 ? at + size : at) * stride;
      if (sums[i] > std::numeric_limits<int32_t>::max()) return std::nullopt;
      offsets.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(sums[i]);
    }
  }
  return offsets;
}

bool bind_by_offsets(Binding& binding, const Indexed& indexed, const Around& around, at::Tensor offsets) {
  const int64_t bytes = indexed.self.meta.itemsize();
  PickOffsetsSpec spec{around.outer.size,
                       indexed.count(),
                       around.inner.size * bytes,
                       around.outer.stride * bytes,
                       indexed.count() * around.inner.size * bytes,
                       around.inner.size * bytes};
  spec.parts = parts_of(binding, spec.outer * spec.count, spec.bytes);
  const TensorView result = binding.result(0, indexed.self.meta.dtype, around.sizes);
  binding.run_with(gather_table().pick_offsets, spec, {indexed.self, binding.keep(std::move(offsets))}, {result});
  can_place_runs<PickOffsetsSpec>(binding, indexed.first, static_cast<int64_t>(indexed.broadcast.size()));
  return true;
}

// One for all, or one for each.
std::optional<int64_t> step(const TensorMeta& index, at::IntArrayRef broadcast) {
  if (index.numel() == 1) return 0;
  if (index.sizes == broadcast && index.is_contiguous()) return 1;
  return std::nullopt;
}

bool bind_by_many(Binding& binding, const Indexed& indexed, const Around& around) {
  const TensorMeta& meta = indexed.self.meta;
  if (indexed.indices.size() > kMostIndices) return false;
  PickByManySpec spec{};
  spec.outer = around.outer.size;
  spec.count = indexed.count();
  spec.bytes = around.inner.size * meta.itemsize();
  spec.outer_stride = around.outer.stride * meta.itemsize();
  spec.to_outer = spec.count * spec.bytes;
  spec.to_stride = spec.bytes;
  spec.indices = static_cast<int>(indexed.indices.size());
  std::vector<TensorView> reads{indexed.self};
  for (int k = 0; k < spec.indices; ++k) {
    const auto steps = step(indexed.indices[k].meta, indexed.broadcast);
    if (!steps) return false;
    spec.step[k] = *steps;
    spec.size[k] = meta.sizes[indexed.first + k];
    spec.stride[k] = meta.strides[indexed.first + k] * meta.itemsize();
    reads.push_back(indexed.indices[k]);
  }
  spec.parts = parts_of(binding, spec.outer * spec.count, spec.bytes);
  const TensorView result = binding.result(0, meta.dtype, around.sizes);
  binding.run_with(gather_table().pick_by_many, spec, std::move(reads), {result}, true);
  can_place_runs<PickByManySpec>(binding, indexed.first, static_cast<int64_t>(indexed.broadcast.size()));
  return true;
}

bool bind_index(Binding& binding) {
  const auto found = indexed(binding);
  if (!found) return false;
  const auto shape = around(*found);
  if (!shape) return false;
  if (auto offsets = constant_offsets(binding, *found))
    return bind_by_offsets(binding, *found, *shape, *std::move(offsets));
  if (found->indices.size() == 1 && is_indices(&found->indices[0])) {
    return bind_pick(binding, found->self, found->first, found->indices[0], true);
  }
  return bind_by_many(binding, *found, *shape);
}

const BinderRegistration kIndex("aten::index.Tensor", bind_index);
const BinderRegistration kIndexTwin("aten::index.Tensor_hacked_twin", bind_index);
const BinderRegistration kUnsafeIndex("aten::_unsafe_index.Tensor", bind_index);

// ---- aten::gather ----

// LibTorch takes 1.4 ns for each of more, this kernel 2.3.
constexpr int64_t kMostGathered = 32768;

// `index_at`, `dim_at`: which arguments they are.
bool gather(Binding& binding, size_t index_at, size_t dim_at) {
  const TensorView *self = binding.tensor(0), *index = binding.tensor(index_at);
  if (!self || !is_indices(index) || index->meta.dtype != at::kLong || index->meta.numel() > kMostGathered)
    return false;
  if (!self->meta.is_contiguous() || self->meta.numel() == 0 || self->meta.dim() != index->meta.dim()) return false;
  const auto dim = wrapped_dim(binding.known(dim_at), self->meta.dim());
  const int64_t bytes = self->meta.itemsize();
  if (!dim || (bytes != 1 && bytes != 4 && bytes != 8)) return false;
  for (int64_t d = 0; d < self->meta.dim(); ++d) {
    if (d != *dim && self->meta.sizes[d] != index->meta.sizes[d]) return false;
  }
  const at::IntArrayRef sizes = self->meta.sizes;
  const GatherSpec spec{c10::multiply_integers(sizes.slice(0, *dim)), sizes[*dim], index->meta.sizes[*dim],
                        c10::multiply_integers(sizes.slice(*dim + 1)), bytes};
  const TensorView result = binding.result(0, self->meta.dtype, index->meta.sizes);
  binding.run_with(gather_table().gather, spec, {*self, *index}, {result}, true);
  return true;
}

bool bind_gather(Binding& binding) { return gather(binding, 2, 1); }
// Which would broadcast.
bool bind_take_along(Binding& binding) { return gather(binding, 1, 2); }

bool bind_one_hot(Binding& binding) {
  const TensorView* classes = binding.tensor(0);
  const c10::IValue* count = binding.known(1);
  if (!is_indices(classes) || classes->meta.dtype != at::kLong || !count || !count->isInt()) return false;
  const OneHotSpec spec{classes->meta.numel(), count->toInt()};
  if (spec.classes < 1) return false;
  const TensorView result = binding.result(0, at::kLong, joined(classes->meta.sizes, {spec.classes}, {}));
  binding.run_with(gather_table().one_hot, spec, {*classes}, {result}, true);
  return true;
}

const BinderRegistration kGather("aten::gather", bind_gather);
const BinderRegistration kTakeAlong("aten::take_along_dim", bind_take_along);
const BinderRegistration kOneHot("aten::one_hot", bind_one_hot);

// ---- bags ----

// Indices of a bag follow one another, as offsets say; the table's rows are dense.
std::optional<BagsSpec> bags(const Binding& binding) {
  const TensorView *weight = binding.tensor(0), *indices = binding.tensor(1), *offsets = binding.tensor(2);
  if (!weight || weight->meta.dtype != at::kFloat || weight->meta.dim() != 2 || weight->meta.numel() == 0)
    return std::nullopt;
  if (weight->meta.sizes[1] != 1 && weight->meta.strides[1] != 1) return std::nullopt;
  if (!is_indices(indices) || indices->meta.dim() != 1 || !is_indices(offsets) || offsets->meta.dim() != 1)
    return std::nullopt;
  if (indices->meta.dtype != offsets->meta.dtype) return std::nullopt;
  const auto last_offset = known_bool(binding.known(7));
  const c10::IValue* mode = binding.known(4);
  if (!last_offset || !mode || !mode->isInt() || mode->toInt() > 1) return std::nullopt;
  BagsSpec spec{};
  spec.rows = weight->meta.sizes[0];
  spec.row_stride = weight->meta.strides[0];
  spec.size = weight->meta.sizes[1];
  spec.bags = offsets->meta.numel() - (*last_offset ? 1 : 0);
  spec.indices = indices->meta.numel();
  spec.to_stride = spec.size;
  spec.mode = mode->toInt() == 0 ? BagMode::kSum : BagMode::kMean;
  spec.wide = indices->meta.dtype == at::kLong;
  spec.last_offset = *last_offset;
  spec.has_bags_of = spec.has_bag_sizes = spec.mode == BagMode::kMean;
  if (spec.bags < 1) return std::nullopt;
  return spec;
}

// One weight for each index, which LibTorch knows for sums only.
bool take_weights(const Binding& binding, BagsSpec& spec, std::vector<TensorView>& reads) {
  if (is_none(binding.known(6))) return true;
  const TensorView* weights = binding.tensor(6);
  if (!weights || spec.mode != BagMode::kSum || weights->meta.dtype != at::kFloat || !weights->meta.is_contiguous() ||
      weights->meta.numel() != spec.indices) {
    return false;
  }
  reads.push_back(*weights);
  return spec.weighted = true;
}

// A row that does not count: none, or -1 for the inner operators.
bool has_padding(const c10::IValue* value, bool minus_one_is_none) {
  if (!value) return true;
  if (value->isNone()) return false;
  return !(minus_one_is_none && value->isInt() && value->toInt() == -1);
}

// Besides the sums there are three results, which LibTorch's own backward needs: of sums it says nothing but zeros.
bool bind_bags(Binding& binding) {
  auto spec = bags(binding);
  if (!spec) return false;
  spec->parts = parts_of(binding, spec->indices, spec->size * static_cast<int64_t>(sizeof(float)));
  std::vector<TensorView> reads{*binding.tensor(0), *binding.tensor(1), *binding.tensor(2)};
  if (!take_weights(binding, *spec, reads)) return false;
  const at::ScalarType dtype = reads[1].meta.dtype;
  const int64_t noted = spec->has_bag_sizes ? spec->bags : reads[2].meta.numel();
  std::vector<TensorView> writes{binding.result(0, at::kFloat, {spec->bags, spec->size})};
  const TensorView bags_of = binding.result(1, dtype, {spec->has_bags_of ? spec->indices : 0});
  if (spec->has_bags_of) writes.push_back(bags_of);
  writes.push_back(binding.result(2, dtype, {noted}));
  writes.push_back(binding.result(3, dtype, {noted}));
  binding.run_with(gather_table().bags, *spec, std::move(reads), std::move(writes), true);
  binding.can_place<BagsSpec>([](BagsSpec& spec, const TensorMeta& to) {
    spec.to_stride = to.strides[0];
    return spec.size == 1 || to.strides[1] == 1;
  });
  return true;
}

bool bind_bags_without_padding(Binding& binding) { return !has_padding(binding.known(8), false) && bind_bags(binding); }

bool bind_inner_bags(Binding& binding) { return !has_padding(binding.known(8), true) && bind_bags(binding); }

const BinderRegistration kEmbeddingBag("aten::embedding_bag", bind_bags);
const BinderRegistration kEmbeddingBagPadding("aten::embedding_bag.padding_idx", bind_bags_without_padding);
const BinderRegistration kForwardOnly("aten::_embedding_bag_forward_only", bind_inner_bags);

}  // namespace
}  // namespace stator
