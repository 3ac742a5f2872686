// Reductions over dimensions that are one run of memory.
#include <algorithm>

#include "kernels/dispatch.h"
#include "plan/collapse.h"
#include "plan/reduction.h"

namespace stator {
namespace {

// By arguments: -1 where there is none.
struct Arguments {
  int dim = -1;   // without: all dimensions
  int keep = -1;  // without: no
};

std::optional<Reduction> reduction(Binding& binding, Arguments arguments) {
  const TensorView* self = binding.tensor(0);
  if (!self) return std::nullopt;
  const int64_t dims = self->meta.dim();
  const auto reduced =
      arguments.dim < 0 ? std::vector<bool>(dims, true) : named_dims(binding.known(arguments.dim), dims);
  const auto keep = arguments.keep < 0 ? false : known_bool(binding.known(arguments.keep));
  if (!reduced || !keep) return std::nullopt;
  return reduction(self->meta, *reduced, *keep);
}

bool bind(Binding& binding, std::optional<Reduction> reduction, BoundKernel kernel,
          std::initializer_list<at::ScalarType> results, bool cut_by_libtorch = true) {
  if (!reduction || !kernel || !share(binding, reduction->spec, cut_by_libtorch)) return false;
  const ReductionSpec& spec = reduction->spec;
  const TensorView& self = *binding.tensor(0);
  std::vector<TensorView> writes;
  std::vector<int64_t> write_steps;
  for (at::ScalarType dtype : results) {
    writes.push_back(binding.result(writes.size(), dtype, reduction->sizes));
    write_steps.push_back(spec.inner * static_cast<int64_t>(c10::elementSize(dtype)));
  }
  binding.run_with(kernel, spec, {self}, std::move(writes));
  binding.has_rows(&ReductionSpec::outer, spec, {spec.outer_stride * self.meta.itemsize()}, std::move(write_steps));
  return true;
}

at::ScalarType dtype_of(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  return self ? self->meta.dtype : at::ScalarType::Undefined;
}

// None, or what the result has anyway.
bool keeps_dtype(Binding& binding, int i, at::ScalarType result) {
  const c10::IValue* dtype = binding.known(i);
  return dtype && (dtype->isNone() || (dtype->isInt() && dtype->toScalarType() == result));
}

// ---- sums ----

struct Typed {
  BoundKernel kernel = nullptr;
  at::ScalarType result = at::ScalarType::Undefined;
};

Typed sum_of(at::ScalarType dtype) {
  const ReductionKernels& table = *kernels().reductions;
  switch (dtype) {
    case at::kFloat:
      return {table.sum, at::kFloat};
    case at::kDouble:
      return {table.sum_double, at::kDouble};
    case at::kBool:
      return {table.sum_bool, at::kLong};
    case at::kInt:
      return {table.sum_int32, at::kLong};
    case at::kLong:
      return {table.sum_int64, at::kLong};
    default:
      return {};
  }
}

Typed mean_of(at::ScalarType dtype) {
  const ReductionKernels& table = *kernels().reductions;
  if (dtype == at::kFloat) return {table.mean, dtype};
  if (dtype == at::kDouble) return {table.mean_double, dtype};
  return {};
}

Typed product_of(at::ScalarType dtype) {
  if (dtype != at::kFloat) return {};
  return {kernels().reductions->product, dtype};
}

template <Typed (*kOf)(at::ScalarType), int kDim, int kKeep, int kDtype>
bool bind_typed(Binding& binding) {
  const Typed typed = kOf(dtype_of(binding));
  if (!typed.kernel || (kDtype >= 0 && !keeps_dtype(binding, kDtype, typed.result))) return false;
  return bind(binding, reduction(binding, {kDim, kKeep}), typed.kernel, {typed.result});
}

const BinderRegistration kSum("aten::sum", bind_typed<sum_of, -1, -1, 1>);
const BinderRegistration kSumDim("aten::sum.dim_IntList", bind_typed<sum_of, 1, 2, 3>);
const BinderRegistration kMean("aten::mean", bind_typed<mean_of, -1, -1, 1>);
const BinderRegistration kMeanDim("aten::mean.dim", bind_typed<mean_of, 1, 2, 3>);
const BinderRegistration kProd("aten::prod", bind_typed<product_of, -1, -1, 1>);
const BinderRegistration kProdDim("aten::prod.dim_int", bind_typed<product_of, 1, 2, 3>);

// ---- the greatest and least ----

Typed greatest_of(at::ScalarType dtype) {
  const ReductionKernels& table = *kernels().reductions;
  switch (dtype) {
    case at::kFloat:
      return {table.greatest, dtype};
    case at::kDouble:
      return {table.greatest_double, dtype};
    case at::kLong:
      return {table.greatest_int64, dtype};
    default:
      return {};
  }
}

Typed least_of(at::ScalarType dtype) {
  const ReductionKernels& table = *kernels().reductions;
  switch (dtype) {
    case at::kFloat:
      return {table.least, dtype};
    case at::kDouble:
      return {table.least_double, dtype};
    case at::kLong:
      return {table.least_int64, dtype};
    default:
      return {};
  }
}

const BinderRegistration kAmax("aten::amax", bind_typed<greatest_of, 1, 2, -1>);
const BinderRegistration kAmin("aten::amin", bind_typed<least_of, 1, 2, -1>);
const BinderRegistration kMax("aten::max", bind_typed<greatest_of, -1, -1, -1>);
const BinderRegistration kMin("aten::min", bind_typed<least_of, -1, -1, -1>);

using Kernel = BoundKernel ReductionKernels::*;

template <Kernel kFloat32, Kernel kInt64>
BoundKernel kernel_of(at::ScalarType dtype) {
  if (dtype == at::kFloat) return kernels().reductions->*kFloat32;
  if (dtype == at::kLong) return kernels().reductions->*kInt64;
  return nullptr;
}

template <Kernel kFloat32, Kernel kInt64>
bool bind_with_where(Binding& binding) {
  const at::ScalarType dtype = dtype_of(binding);
  return bind(binding, reduction(binding, {1, 2}), kernel_of<kFloat32, kInt64>(dtype), {dtype, at::kLong}, false);
}

// Without a dimension the index is one of the flattened elements, and no dimension is kept but by request.
template <Kernel kFloat32, Kernel kInt64>
bool bind_where(Binding& binding) {
  return bind(binding, reduction(binding, {1, 2}), kernel_of<kFloat32, kInt64>(dtype_of(binding)), {at::kLong}, false);
}

using Table = ReductionKernels;
const BinderRegistration kMaxDim("aten::max.dim",
                                 bind_with_where<&Table::greatest_and_where, &Table::greatest_and_where_int64>);
const BinderRegistration kMinDim("aten::min.dim",
                                 bind_with_where<&Table::least_and_where, &Table::least_and_where_int64>);
const BinderRegistration kArgmax("aten::argmax", bind_where<&Table::where_greatest, &Table::where_greatest_int64>);
const BinderRegistration kArgmin("aten::argmin", bind_where<&Table::where_least, &Table::where_least_int64>);

// ---- any and all ----

template <Kernel kFloat32, Kernel kBool, int kDim, int kKeep>
bool bind_logical(Binding& binding) {
  const at::ScalarType dtype = dtype_of(binding);
  BoundKernel kernel = nullptr;
  if (dtype == at::kFloat) kernel = kernels().reductions->*kFloat32;
  if (dtype == at::kBool) kernel = kernels().reductions->*kBool;
  return bind(binding, reduction(binding, {kDim, kKeep}), kernel, {at::kBool});
}

// An empty list of dimensions is none for these, unlike for sums.
template <Kernel kFloat32, Kernel kBool>
bool bind_logical_dims(Binding& binding) {
  const c10::IValue* dims = binding.known(1);
  if (dims && dims->isIntList() && dims->toIntList().empty()) return false;
  return bind_logical<kFloat32, kBool, 1, 2>(binding);
}

const BinderRegistration kAny("aten::any", bind_logical<&Table::any, &Table::any_bool, -1, -1>);
const BinderRegistration kAnyDim("aten::any.dim", bind_logical<&Table::any, &Table::any_bool, 1, 2>);
const BinderRegistration kAnyDims("aten::any.dims", bind_logical_dims<&Table::any, &Table::any_bool>);
const BinderRegistration kAll("aten::all", bind_logical<&Table::all, &Table::all_bool, -1, -1>);
const BinderRegistration kAllDim("aten::all.dim", bind_logical<&Table::all, &Table::all_bool, 1, 2>);
const BinderRegistration kAllDims("aten::all.dims", bind_logical_dims<&Table::all, &Table::all_bool>);

// ---- variances ----

// A bool `unbiased`, or a number `correction` that is 1 unless said.
std::optional<double> correction(const c10::IValue* value) {
  if (!value) return std::nullopt;
  if (value->isNone()) return 1;
  if (value->isBool()) return value->toBool() ? 1 : 0;
  if (value->isInt()) return static_cast<double>(value->toInt());
  if (value->isDouble()) return value->toDouble();
  return std::nullopt;
}

template <Kernel kKernel, int kDim, int kCorrection, int kKeep, bool kMean>
bool bind_spread(Binding& binding) {
  if (dtype_of(binding) != at::kFloat) return false;
  auto found = reduction(binding, {kDim, kKeep});
  const auto number = correction(binding.known(kCorrection));
  // LibTorch warns of what no degree of freedom is left to.
  if (!found || !number || !(static_cast<double>(found->spec.reduced) > *number)) return false;
  found->spec.correction = *number;
  const BoundKernel kernel = kernels().reductions->*kKernel;
  return kMean ? bind(binding, found, kernel, {at::kFloat, at::kFloat}) : bind(binding, found, kernel, {at::kFloat});
}

const BinderRegistration kVar("aten::var", bind_spread<&Table::variance, -1, 1, -1, false>);
const BinderRegistration kVarDim("aten::var.dim", bind_spread<&Table::variance, 1, 2, 3, false>);
const BinderRegistration kVarCorrection("aten::var.correction", bind_spread<&Table::variance, 1, 2, 3, false>);
const BinderRegistration kStd("aten::std", bind_spread<&Table::deviation, -1, 1, -1, false>);
const BinderRegistration kStdDim("aten::std.dim", bind_spread<&Table::deviation, 1, 2, 3, false>);
const BinderRegistration kStdCorrection("aten::std.correction", bind_spread<&Table::deviation, 1, 2, 3, false>);
const BinderRegistration kVarMean("aten::var_mean", bind_spread<&Table::variance_and_mean, -1, 1, -1, true>);
const BinderRegistration kVarMeanDim("aten::var_mean.dim", bind_spread<&Table::variance_and_mean, 1, 2, 3, true>);
const BinderRegistration kVarMeanCorrection("aten::var_mean.correction",
                                            bind_spread<&Table::variance_and_mean, 1, 2, 3, true>);
const BinderRegistration kStdMeanCorrection("aten::std_mean.correction",
                                            bind_spread<&Table::deviation_and_mean, 1, 2, 3, true>);

// ---- norms ----

// None is 2 as well.
bool is_two(const c10::IValue* value) {
  if (!value) return false;
  return value->isNone() || (value->isInt() && value->toInt() == 2) || (value->isDouble() && value->toDouble() == 2.0);
}

template <int kOrder, int kDim, int kKeep, int kDtype>
bool bind_norm(Binding& binding) {
  if (dtype_of(binding) != at::kFloat || (kOrder >= 0 && !is_two(binding.known(kOrder)))) return false;
  if (kDtype >= 0 && !keeps_dtype(binding, kDtype, at::kFloat)) return false;
  return bind(binding, reduction(binding, {kDim, kKeep}), kernels().reductions->norm, {at::kFloat});
}

const BinderRegistration kNorm("aten::norm.Scalar", bind_norm<1, -1, -1, -1>);
const BinderRegistration kNormDim("aten::norm.ScalarOpt_dim", bind_norm<1, 2, 3, -1>);
const BinderRegistration kVectorNorm("aten::linalg_vector_norm", bind_norm<1, 2, 3, 4>);
const BinderRegistration kFrobenius("aten::frobenius_norm.dim", bind_norm<-1, 1, 2, -1>);

}  // namespace
}  // namespace stator
