// Reductions, scans and sorting.
#include <ATen/CPUFunctions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/native/ReduceOpsUtils.h>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

namespace native = at::native;

// The whole tensor, as the operators without dimensions are defined: over an empty list of dimensions.
template <class S>
void over_all(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  run_structured<S>(call, self, at::OptionalIntArrayRef(at::IntArrayRef{}), false,
                    call.in(1).toOptional<at::ScalarType>());
}

// max(self) and min(self). Their error for an empty tensor is their own.
template <class S>
void extreme(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self) || self.numel() == 0 || self.is_complex()) return run_boxed(call);
  run_structured<S>(call, self, at::IntArrayRef{}, false);
}

// Values and indices. meta() wraps the dimension.
template <class S>
void extreme_along(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  const bool keepdim = call.in(2).toBool();
  Planned<S> op(call);
  const auto wrapped = op.meta(self, call.in(1).toInt(), keepdim);
  op.impl(self, wrapped.dim, keepdim, op.maybe_get_output(0), op.maybe_get_output(1));
}

void norm_all(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  const at::Scalar p = call.in(1).toScalar();
  run_structured<native::structured_norm_out>(call, self, at::OptionalScalarRef(p), at::IntArrayRef{}, false);
}

void sort(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  run_structured<native::structured_sort_stable_out>(call, self, std::optional<bool>(false), call.in(1).toInt(),
                                                     call.in(2).toBool());
}

using Spread = at::Tensor& (*)(const at::Tensor&, at::OptionalIntArrayRef, const std::optional<at::Scalar>&, bool,
                               at::Tensor&);

template <Spread F>
void spread(const Call& call, at::OptionalIntArrayRef dim, const std::optional<at::Scalar>& correction, bool keepdim) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self) || !self.is_floating_point()) return run_boxed(call);
  const at::DimVector sizes = at::meta::get_reduction_shape(self, dim.value_or(at::IntArrayRef{}), keepdim);
  F(self, dim, correction, keepdim, call.output(0, sizes, {}, self.scalar_type()));
}

template <Spread F>
void spread_all(const Call& call) {
  spread<F>(call, std::nullopt, at::Scalar(call.in(1).toBool() ? 1 : 0), false);
}

template <Spread F>
void spread_along(const Call& call) {
  const Argument<at::OptionalIntArrayRef> dim(call.in(1));
  spread<F>(call, dim.get(), at::Scalar(call.in(2).toBool() ? 1 : 0), call.in(3).toBool());
}

template <Spread F>
void spread_corrected(const Call& call) {
  const Argument<at::OptionalIntArrayRef> dim(call.in(1));
  spread<F>(call, dim.get(), call.in(2).toOptional<at::Scalar>(), call.in(3).toBool());
}

constexpr Spread kVar = &at::cpu::var_outf;
constexpr Spread kStd = &at::cpu::std_outf;

const Registration kReductions[] = {
    {ImplKind::kOut, "aten::sum", over_all<native::structured_sum_out>},
    {ImplKind::kOut, "aten::sum.dim_IntList", structured<native::structured_sum_out>},
    {ImplKind::kOut, "aten::mean", over_all<native::structured_mean_out>},
    {ImplKind::kOut, "aten::mean.dim", structured<native::structured_mean_out>},
    {ImplKind::kOut, "aten::prod.dim_int", structured<native::structured_prod_out>},
    {ImplKind::kOut, "aten::amax", structured<native::structured_amax_out>},
    {ImplKind::kOut, "aten::amin", structured<native::structured_amin_out>},
    {ImplKind::kOut, "aten::aminmax", structured<native::structured_aminmax_out>},
    {ImplKind::kOut, "aten::max", extreme<native::structured_amax_out>},
    {ImplKind::kOut, "aten::min", extreme<native::structured_amin_out>},
    {ImplKind::kOut, "aten::max.dim", extreme_along<native::structured_max_out>},
    {ImplKind::kOut, "aten::min.dim", extreme_along<native::structured_min_out>},
    {ImplKind::kOut, "aten::argmax", structured<native::structured_argmax_out>},
    {ImplKind::kOut, "aten::argmin", structured<native::structured_argmin_out>},
    {ImplKind::kOut, "aten::all", structured<native::structured_all_all_out>},
    {ImplKind::kOut, "aten::all.dim", structured<native::structured_all_out>},
    {ImplKind::kOut, "aten::all.dims", structured<native::structured_all_dims_out>},
    {ImplKind::kOut, "aten::any", structured<native::structured_any_all_out>},
    {ImplKind::kOut, "aten::any.dim", structured<native::structured_any_out>},
    {ImplKind::kOut, "aten::any.dims", structured<native::structured_any_dims_out>},
    {ImplKind::kOut, "aten::norm.Scalar", norm_all},
    {ImplKind::kOut, "aten::norm.ScalarOpt_dim", structured<native::structured_norm_out>},
    {ImplKind::kOut, "aten::norm.ScalarOpt_dim_dtype", structured<native::structured_norm_dtype_out>},
    {ImplKind::kOut, "aten::linalg_vector_norm", structured<native::structured_linalg_vector_norm_out>},
    {ImplKind::kOut, "aten::cumsum", structured<native::structured_cumsum_out>},
    {ImplKind::kOut, "aten::cumprod", structured<native::structured_cumprod_out>},
    {ImplKind::kOut, "aten::topk", structured<native::structured_topk_out_cpu>},
    {ImplKind::kOut, "aten::sort", sort},
    {ImplKind::kOut, "aten::sort.stable", structured<native::structured_sort_stable_out>},
    {ImplKind::kOut, "aten::var", spread_all<kVar>},
    {ImplKind::kOut, "aten::var.dim", spread_along<kVar>},
    {ImplKind::kOut, "aten::var.correction", spread_corrected<kVar>},
    {ImplKind::kOut, "aten::std", spread_all<kStd>},
    {ImplKind::kOut, "aten::std.dim", spread_along<kStd>},
    {ImplKind::kOut, "aten::std.correction", spread_corrected<kStd>},
};

}  // namespace
}  // namespace stator
