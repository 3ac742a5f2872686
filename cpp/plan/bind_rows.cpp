// Softmax, normalisations and running sums of float32.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"
#include "plan/rearrange.h"

namespace stator {
namespace {

const RowKernels& row_table() { return *kernels().rows; }

// Argument i, if it is float32 and not empty.
const TensorView* floats(const Binding& binding, size_t i) {
  const TensorView* view = binding.tensor(i);
  return view && view->meta.dtype == at::kFloat && view->meta.numel() > 0 ? view : nullptr;
}

// In how many parts the work on all of `meta` is shared, of `most` rows; LibTorch does not take rows apart either.
int64_t parts_of(Binding& binding, const TensorMeta& meta, int64_t most, double nanoseconds_each) {
  return std::min(most, binding.parts(static_cast<double>(meta.numel()) * nanoseconds_each));
}

// ---- along a dimension ----

std::optional<AlongSpec> along(const TensorMeta& meta, const c10::IValue* dim) {
  const auto wrapped = wrapped_dim(dim, meta.dim());
  if (!wrapped) return std::nullopt;
  const auto around = collapse_around(meta, *wrapped);
  if (!around) return std::nullopt;
  const auto [outer, size, inner] = *around;
  return AlongSpec{outer.size, size.size, inner.size, outer.stride, size.stride, inner.stride};
}

// Softmax of more elements side by side passes the caches too often: 1024 by 1024 take twice as long as LibTorch's.
constexpr int64_t kMostAcross = 32768;

bool bind_along(Binding& binding, BoundKernel kernel, bool dense_inner) {
  const TensorView* self = floats(binding, 0);
  if (!self) return false;
  auto spec = along(self->meta, binding.known(1));
  if (!spec) return false;
  if (spec->size == 1) spec->stride = 1;
  if (dense_inner && spec->inner != 1 && (spec->inner_stride != 1 || self->meta.numel() > kMostAcross)) return false;
  spec->parts = parts_of(binding, self->meta, spec->outer * spec->inner, 0.6);
  const TensorView result = binding.result(0, at::kFloat, self->meta.sizes);
  binding.run_with(kernel, *spec, {*self}, {result});
  binding.has_rows(&AlongSpec::outer, *spec, {spec->outer_stride * kFloatBytes},
                   {spec->size * spec->inner * kFloatBytes});
  return true;
}

bool keeps_float(const c10::IValue* dtype) {
  return dtype && (dtype->isNone() || (dtype->isInt() && dtype->toScalarType() == at::kFloat));
}

template <BoundKernel RowKernels::* kKernel>
bool bind_softmax(Binding& binding) {
  return keeps_float(binding.known(2)) && bind_along(binding, row_table().*kKernel, true);
}

// The decompositions of softmax: their last argument says whether float16 is to become float32.
template <BoundKernel RowKernels::* kKernel>
bool bind_plain_softmax(Binding& binding) {
  return known_bool(binding.known(2)) == false && bind_along(binding, row_table().*kKernel, true);
}

bool bind_cumsum(Binding& binding) {
  return keeps_float(binding.known(2)) && bind_along(binding, row_table().running_sum, false);
}

bool bind_logsumexp(Binding& binding) {
  const TensorView* self = floats(binding, 0);
  const c10::IValue* dims = binding.known(1);
  const auto keep = known_bool(binding.known(2));
  if (!self || !dims || !dims->isIntList() || dims->toIntList().size() != 1 || !keep) return false;
  const c10::IValue dim(dims->toIntList().get(0));
  auto spec = along(self->meta, &dim);
  if (!spec || spec->inner != 1 || (spec->size != 1 && spec->stride != 1)) return false;
  spec->parts = parts_of(binding, self->meta, spec->outer, 0.5);
  at::DimVector sizes = self->meta.sizes;
  const int64_t at = *wrapped_dim(&dim, self->meta.dim());
  sizes[at] = 1;
  if (!*keep) sizes.erase(sizes.begin() + at);
  const TensorView result = binding.result(0, at::kFloat, sizes);
  binding.run_with(row_table().log_sum_exp, *spec, {*self}, {result});
  binding.has_rows(&AlongSpec::outer, *spec, {spec->outer_stride * kFloatBytes}, {kFloatBytes});
  return true;
}

const BinderRegistration kSoftmax("aten::softmax.int", bind_softmax<&RowKernels::softmax>);
const BinderRegistration kLogSoftmax("aten::log_softmax.int", bind_softmax<&RowKernels::log_softmax>);
const BinderRegistration kPlainSoftmax("aten::_softmax", bind_plain_softmax<&RowKernels::softmax>);
const BinderRegistration kPlainLogSoftmax("aten::_log_softmax", bind_plain_softmax<&RowKernels::log_softmax>);
const BinderRegistration kCumsum("aten::cumsum", bind_cumsum);
const BinderRegistration kLogSumExp("aten::logsumexp", bind_logsumexp);

// ---- optional weights ----

// Contiguous float32 with `count` elements, or None. False: neither.
bool take_optional(const Binding& binding, size_t i, int64_t count, std::vector<TensorView>& reads, bool& there) {
  there = false;
  if (is_none(binding.known(i))) return true;
  const TensorView* view = binding.tensor(i);
  if (!view || view->meta.dtype != at::kFloat || !view->meta.is_contiguous() || view->meta.numel() != count)
    return false;
  reads.push_back(*view);
  there = true;
  return true;
}

std::optional<float> known_float(const c10::IValue* value) {
  if (!value || !value->isDouble()) return std::nullopt;
  return static_cast<float>(value->toDouble());
}

// ---- over the last dimensions ----

struct Rows {
  NormalizeRowsSpec spec{};
  at::DimVector statistics;  // sizes
};

std::optional<Rows> rows(const TensorMeta& meta, const c10::IValue* normalized) {
  if (!normalized || !normalized->isIntList()) return std::nullopt;
  const auto dims = static_cast<int64_t>(normalized->toIntList().size());
  if (dims < 1 || dims > meta.dim()) return std::nullopt;
  const int64_t axis = meta.dim() - dims;
  const auto outer = collapse(meta, 0, axis), inner = collapse(meta, axis, meta.dim());
  if (!outer || !inner || !is_dense(*inner)) return std::nullopt;
  Rows result;
  result.spec.rows = outer->size;
  result.spec.size = inner->size;
  result.spec.row_stride = outer->stride;
  result.statistics.assign(meta.sizes.begin(), meta.sizes.begin() + axis);
  result.statistics.resize(meta.dim(), 1);
  return result;
}

// The kernel of the last run: the rows come first in what it reads and writes, then weights and statistics.
void has_normalized_rows(Binding& binding, const NormalizeRowsSpec& spec, size_t reads, size_t writes) {
  std::vector<int64_t> read_steps(reads, 0), write_steps(writes, kFloatBytes);
  read_steps[0] = spec.row_stride * kFloatBytes;
  write_steps[0] = spec.size * kFloatBytes;
  binding.has_rows(&NormalizeRowsSpec::rows, spec, std::move(read_steps), std::move(write_steps));
}

template <bool kStatistics>
bool bind_layer_norm(Binding& binding) {
  const TensorView* given = floats(binding, 0);
  const auto eps = known_float(binding.known(4));
  if (!given || !eps) return false;
  TensorView self = *given;
  auto found = rows(self.meta, binding.known(1));
  // Where elements of a row are no neighbours, a contiguous copy, as LibTorch makes one.
  if (!found) found = rows((self = contiguous_copy(binding, self)).meta, binding.known(1));
  if (!found) return false;
  NormalizeRowsSpec& spec = found->spec;
  spec.parts = parts_of(binding, self.meta, spec.rows, 0.4);
  spec.eps = *eps;
  spec.has_statistics = kStatistics;
  std::vector<TensorView> reads{self};
  if (!take_optional(binding, 2, spec.size, reads, spec.has_weight)) return false;
  if (!take_optional(binding, 3, spec.size, reads, spec.has_bias)) return false;
  std::vector<TensorView> writes{binding.result(0, at::kFloat, self.meta.sizes)};
  for (size_t i = 1; kStatistics && i <= 2; ++i) writes.push_back(binding.result(i, at::kFloat, found->statistics));
  const size_t read = reads.size(), written = writes.size();
  binding.run_with(row_table().layer_norm, spec, std::move(reads), std::move(writes));
  has_normalized_rows(binding, spec, read, written);
  return true;
}

template <bool kStatistics>
bool bind_rms_norm(Binding& binding) {
  const TensorView* self = floats(binding, 0);
  const auto eps =
      is_none(binding.known(3)) ? std::optional(std::numeric_limits<float>::epsilon()) : known_float(binding.known(3));
  if (!self || !eps) return false;
  auto found = rows(self->meta, binding.known(1));
  if (!found) return false;
  NormalizeRowsSpec& spec = found->spec;
  spec.parts = parts_of(binding, self->meta, spec.rows, 0.4);
  spec.eps = *eps;
  spec.has_statistics = kStatistics;
  std::vector<TensorView> reads{*self};
  if (!take_optional(binding, 2, spec.size, reads, spec.has_weight)) return false;
  std::vector<TensorView> writes{binding.result(0, at::kFloat, self->meta.sizes)};
  if (kStatistics) writes.push_back(binding.result(1, at::kFloat, found->statistics));
  const size_t read = reads.size(), written = writes.size();
  binding.run_with(row_table().rms_norm, spec, std::move(reads), std::move(writes));
  has_normalized_rows(binding, spec, read, written);
  return true;
}

const BinderRegistration kLayerNorm("aten::layer_norm", bind_layer_norm<false>);
const BinderRegistration kNativeLayerNorm("aten::native_layer_norm", bind_layer_norm<true>);
const BinderRegistration kRmsNorm("aten::rms_norm", bind_rms_norm<false>);
const BinderRegistration kFusedRmsNorm("aten::_fused_rms_norm", bind_rms_norm<true>);

// ---- by groups of channels ----

// `arguments`: where weight, bias and eps are.
struct GroupArguments {
  size_t weight, bias, eps;
};

bool bind_groups(Binding& binding, int64_t groups, GroupArguments arguments, bool statistics) {
  const TensorView* self = floats(binding, 0);
  const auto eps = known_float(binding.known(arguments.eps));
  if (!self || !eps || self->meta.dim() < 2 || !self->meta.is_contiguous()) return false;
  const int64_t batch = self->meta.sizes[0], channels = self->meta.sizes[1];
  if (groups < 1 || channels % groups != 0) return false;
  NormalizeGroupsSpec spec{};
  spec.batch = batch;
  spec.groups = groups;
  spec.channels = channels / groups;
  spec.size = self->meta.numel() / (batch * channels);
  spec.parts = parts_of(binding, self->meta, batch * groups, 0.4);
  spec.eps = *eps;
  spec.has_statistics = statistics;
  std::vector<TensorView> reads{*self};
  if (!take_optional(binding, arguments.weight, channels, reads, spec.has_weight)) return false;
  if (!take_optional(binding, arguments.bias, channels, reads, spec.has_bias)) return false;
  std::vector<TensorView> writes{binding.result(0, at::kFloat, self->meta.sizes)};
  for (size_t i = 1; statistics && i <= 2; ++i) writes.push_back(binding.result(i, at::kFloat, {batch, groups}));
  binding.run_with(row_table().group_norm, spec, std::move(reads), std::move(writes));
  return true;
}

bool bind_group_norm(Binding& binding) {
  const c10::IValue* groups = binding.known(1);
  return groups && groups->isInt() && bind_groups(binding, groups->toInt(), {2, 3, 4}, false);
}

bool bind_native_group_norm(Binding& binding) {
  const c10::IValue* groups = binding.known(6);
  return groups && groups->isInt() && bind_groups(binding, groups->toInt(), {1, 2, 7}, true);
}

const BinderRegistration kGroupNorm("aten::group_norm", bind_group_norm);
const BinderRegistration kNativeGroupNorm("aten::native_group_norm", bind_native_group_norm);

// ---- batch norm with known statistics ----

struct BatchNorm {
  TensorView weight, bias, mean, variance;  // by what the specification has
  FoldBatchNormSpec spec;
};

std::optional<BatchNorm> batch_norm(const Binding& binding, int64_t channels, size_t eps_at) {
  const auto eps = known_float(binding.known(eps_at));
  if (!eps) return std::nullopt;
  BatchNorm norm{};
  norm.spec = {channels, *eps, false, false};
  std::vector<TensorView> views;
  bool has_mean, has_variance;
  if (!take_optional(binding, 1, channels, views, norm.spec.has_weight)) return std::nullopt;
  if (norm.spec.has_weight) norm.weight = views.back();
  if (!take_optional(binding, 2, channels, views, norm.spec.has_bias)) return std::nullopt;
  if (norm.spec.has_bias) norm.bias = views.back();
  if (!take_optional(binding, 3, channels, views, has_mean) || !has_mean) return std::nullopt;
  norm.mean = views.back();
  if (!take_optional(binding, 4, channels, views, has_variance) || !has_variance) return std::nullopt;
  norm.variance = views.back();
  return norm;
}

struct ScaleAndShift {
  TensorView scale, shift;
};

std::optional<ScaleAndShift> constant_scale(Binding& binding, const BatchNorm& norm) {
  const at::Tensor* mean = binding.constant(norm.mean);
  const at::Tensor* variance = binding.constant(norm.variance);
  const at::Tensor* weight = norm.spec.has_weight ? binding.constant(norm.weight) : nullptr;
  const at::Tensor* bias = norm.spec.has_bias ? binding.constant(norm.bias) : nullptr;
  if (!mean || !variance || (norm.spec.has_weight && !weight) || (norm.spec.has_bias && !bias)) return std::nullopt;
  const at::Tensor factor = at::rsqrt(variance->to(at::kFloat) + norm.spec.eps);
  const at::Tensor scale = weight ? factor * *weight : factor;
  const at::Tensor shift = (bias ? *bias : at::zeros_like(*mean)) - *mean * scale;
  return ScaleAndShift{binding.keep(scale.contiguous()), binding.keep(shift.contiguous())};
}

ScaleAndShift run_time_scale(Binding& binding, const BatchNorm& norm) {
  const ScaleAndShift made{binding.scratch(at::kFloat, {norm.spec.channels}),
                           binding.scratch(at::kFloat, {norm.spec.channels})};
  std::vector<TensorView> reads{norm.mean, norm.variance};
  if (norm.spec.has_weight) reads.push_back(norm.weight);
  if (norm.spec.has_bias) reads.push_back(norm.bias);
  binding.run_with(row_table().fold_batch_norm, norm.spec, std::move(reads), {made.scale, made.shift});
  return made;
}

// Contiguous, or with the channels innermost.
std::optional<ScaleChannelsSpec> channels_of(const TensorMeta& meta) {
  if (meta.dim() < 2) return std::nullopt;
  const int64_t batch = meta.sizes[0], channels = meta.sizes[1], size = meta.numel() / (batch * channels);
  if (meta.is_contiguous()) return ScaleChannelsSpec{batch, channels, size};
  const auto inside = collapse(meta, 2, meta.dim());
  const bool innermost = inside && meta.strides[1] == 1 && inside->stride == channels &&
                         (batch == 1 || meta.strides[0] == size * channels);
  if (!innermost) return std::nullopt;
  return ScaleChannelsSpec{batch * size, channels, 1};
}

bool bind_known_batch_norm(Binding& binding, size_t eps_at, bool statistics) {
  const TensorView* self = floats(binding, 0);
  if (!self) return false;
  auto spec = channels_of(self->meta);
  if (!spec) return false;
  spec->parts = parts_of(binding, self->meta, spec->outer * (spec->inner == 1 ? 1 : spec->channels), 0.25);
  const auto norm = batch_norm(binding, spec->channels, eps_at);
  if (!norm) return false;
  auto by = constant_scale(binding, *norm);
  if (!by) by = run_time_scale(binding, *norm);
  const TensorView result = binding.result(0, at::kFloat, self->meta.sizes, self->meta.strides);
  for (size_t i = 1; statistics && i <= 2; ++i) binding.result(i, at::kFloat, {0});
  binding.run_with(row_table().scale_channels, *spec, {*self, by->scale, by->shift}, {result});
  return true;
}

template <bool kStatistics>
bool bind_batch_norm(Binding& binding) {
  return known_bool(binding.known(5)) == false && bind_known_batch_norm(binding, 7, kStatistics);
}

bool bind_batch_norm_no_training(Binding& binding) { return bind_known_batch_norm(binding, 6, true); }

// By the statistics of each sample, or by known ones. Both given, it would update the known ones.
bool bind_instance_norm(Binding& binding) {
  const auto by_input = known_bool(binding.known(5));
  const TensorView* self = floats(binding, 0);
  if (!by_input || !self || self->meta.dim() < 3) return false;
  if (!*by_input) return bind_known_batch_norm(binding, 7, false);
  if (!is_none(binding.known(3)) || !is_none(binding.known(4))) return false;
  return bind_groups(binding, self->meta.sizes[1], {1, 2, 7}, false);
}

const BinderRegistration kBatchNorm("aten::batch_norm", bind_batch_norm<false>);
const BinderRegistration kNativeBatchNorm("aten::native_batch_norm", bind_batch_norm<true>);
const BinderRegistration kNoTraining("aten::_native_batch_norm_legit_no_training", bind_batch_norm_no_training);
const BinderRegistration kInstanceNorm("aten::instance_norm", bind_instance_norm);

}  // namespace
}  // namespace stator
