// Pointwise operators of one tensor.
#include <ATen/CPUFunctions.h>
#include <ATen/NativeFunctions.h>

#include <limits>

#include "ops/registry.h"
#include "ops/short_loops.h"
#include "ops/structured.h"

namespace stator {
namespace {

namespace native = at::native;

// An operator that ATen builds on a TensorIterator but not as a structured kernel: the result has the argument's order of dimensions.
// Arguments with gaps are left to LibTorch, where the iterator's own choice of strides shows.
template <auto F>
void like_argument(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self) || self.is_complex() || !self.is_non_overlapping_and_dense()) return run_boxed(call);
  F(call, self);
}

// abs of complex numbers is real, which like_argument() rules out.
void abs(const Call& call, const at::Tensor& self) { at::cpu::abs_out(call.output_like(0, self), self); }

void hardswish(const Call& call, const at::Tensor& self) { at::cpu::hardswish_out(call.output_like(0, self), self); }

void nan_to_num(const Call& call, const at::Tensor& self) {
  at::cpu::nan_to_num_outf(self, call.in(1).toOptional<double>(), call.in(2).toOptional<double>(),
                           call.in(3).toOptional<double>(), call.output_like(0, self));
}

void logit(const Call& call, const at::Tensor& self) {
  if (!self.is_floating_point()) return run_boxed(call);
  at::cpu::logit_outf(self, call.in(1).toOptional<double>(), call.output_like(0, self));
}

void logical_not(const Call& call, const at::Tensor& self) {
  at::cpu::logical_not_outf(self, call.output(0, self.sizes(), self.strides(), at::kBool));
}

void clamp_bounds(const Call& call, const at::Tensor& self, const at::Scalar& lowest, const at::Scalar& highest) {
  at::cpu::clamp_outf(self, lowest, highest, call.output_like(0, self));
}

// The bounds do not take part in type promotion. Integers have checks of their own, left to LibTorch.
void hardtanh(const Call& call, const at::Tensor& self) {
  if (!self.is_floating_point()) return run_boxed(call);
  const at::Scalar lowest = call.in(1).toScalar(), highest = call.in(2).toScalar();
  if (short_clamp(call, self, lowest.toFloat(), highest.toFloat())) return;
  clamp_bounds(call, self, lowest, highest);
}

void relu6(const Call& call, const at::Tensor& self) {
  if (!self.is_floating_point()) return run_boxed(call);
  if (!short_clamp(call, self, 0.0f, 6.0f)) clamp_bounds(call, self, 0, 6);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void relu(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self) || self.scalar_type() == at::kBool) return run_boxed(call);
  if (!short_clamp(call, self, 0.0f, kInfinity))
    run_structured<native::structured_clamp_min_out>(call, self, at::Scalar(0));
}

void relu_in_place(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self) || self.scalar_type() == at::kBool) return run_boxed(call);
  at::cpu::clamp_min_(const_cast<at::Tensor&>(self), at::Scalar(0));
  call.out() = call.in(0);
}

// Integer bounds and float bounds promote alike for a float tensor.
bool short_bound(const c10::IValue& value, float absent, float& bound) {
  if (value.isNone()) {
    bound = absent;
    return true;
  }
  if (!is_real_number(value)) return false;
  bound = as_float(value);
  return true;
}

void clamp(const Call& call) {
  float lowest = 0, highest = 0;
  const bool bounded = !call.in(1).isNone() || !call.in(2).isNone();
  if (bounded && short_bound(call.in(1), -kInfinity, lowest) && short_bound(call.in(2), kInfinity, highest) &&
      short_clamp(call, call.tensor(0), lowest, highest)) {
    return;
  }
  structured<native::structured_clamp_out>(call);
}

void square(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  run_structured<native::structured_pow_Tensor_Scalar_out>(call, self, at::Scalar(2));
}

void isnan(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  run_structured<native::structured_ne_Tensor_out>(call, self, self);
}

const Registration kPointwiseUnary[] = {
    {ImplKind::kOut, "aten::acos", structured<native::structured_acos_out>},
    {ImplKind::kOut, "aten::acosh", structured<native::structured_acosh_out>},
    {ImplKind::kOut, "aten::asin", structured<native::structured_asin_out>},
    {ImplKind::kOut, "aten::asinh", structured<native::structured_asinh_out>},
    {ImplKind::kOut, "aten::atan", structured<native::structured_atan_out>},
    {ImplKind::kOut, "aten::atanh", structured<native::structured_atanh_out>},
    {ImplKind::kOut, "aten::ceil", structured<native::structured_ceil_out>},
    {ImplKind::kOut, "aten::cos", structured<native::structured_cos_out>},
    {ImplKind::kOut, "aten::cosh", structured<native::structured_cosh_out>},
    {ImplKind::kOut, "aten::digamma", structured<native::structured_digamma_out>},
    {ImplKind::kOut, "aten::erf", structured<native::structured_erf_out>},
    {ImplKind::kOut, "aten::erfc", structured<native::structured_erfc_out>},
    {ImplKind::kOut, "aten::erfinv", structured<native::structured_erfinv_out>},
    {ImplKind::kOut, "aten::exp", structured<native::structured_exp_out>},
    {ImplKind::kOut, "aten::exp2", structured<native::structured_exp2_out>},
    {ImplKind::kOut, "aten::expm1", structured<native::structured_expm1_out>},
    {ImplKind::kOut, "aten::floor", structured<native::structured_floor_out>},
    {ImplKind::kOut, "aten::frac", structured<native::structured_frac_out>},
    {ImplKind::kOut, "aten::hardsigmoid", structured<native::structured_hardsigmoid_out>},
    {ImplKind::kOut, "aten::isneginf", structured<native::structured_isneginf_out>},
    {ImplKind::kOut, "aten::isposinf", structured<native::structured_isposinf_out>},
    {ImplKind::kOut, "aten::lgamma", structured<native::structured_lgamma_out>},
    {ImplKind::kOut, "aten::log", structured<native::structured_log_out>},
    {ImplKind::kOut, "aten::log10", structured<native::structured_log10_out>},
    {ImplKind::kOut, "aten::log1p", structured<native::structured_log1p_out>},
    {ImplKind::kOut, "aten::log2", structured<native::structured_log2_out>},
    {ImplKind::kOut, "aten::mish", structured<native::structured_mish_out>},
    {ImplKind::kOut, "aten::neg", structured<native::structured_neg_out>},
    {ImplKind::kOut, "aten::reciprocal", structured<native::structured_reciprocal_out>},
    {ImplKind::kOut, "aten::round", structured<native::structured_round_out>},
    {ImplKind::kOut, "aten::rsqrt", structured<native::structured_rsqrt_out>},
    {ImplKind::kOut, "aten::sgn", structured<native::structured_sgn_out>},
    {ImplKind::kOut, "aten::sigmoid", structured<native::structured_sigmoid_out>},
    {ImplKind::kOut, "aten::sign", structured<native::structured_sign_out>},
    {ImplKind::kOut, "aten::signbit", structured<native::structured_signbit_out>},
    {ImplKind::kOut, "aten::silu", structured<native::structured_silu_out>},
    {ImplKind::kOut, "aten::sin", structured<native::structured_sin_out>},
    {ImplKind::kOut, "aten::sinh", structured<native::structured_sinh_out>},
    {ImplKind::kOut, "aten::sqrt", structured<native::structured_sqrt_out>},
    {ImplKind::kOut, "aten::tan", structured<native::structured_tan_out>},
    {ImplKind::kOut, "aten::tanh", structured<native::structured_tanh_out>},
    {ImplKind::kOut, "aten::trunc", structured<native::structured_trunc_out>},
    {ImplKind::kOut, "aten::bitwise_not", structured<native::structured_bitwise_not_out>},
    {ImplKind::kOut, "aten::negative", structured<native::structured_neg_out>},
    {ImplKind::kOut, "aten::arccos", structured<native::structured_acos_out>},
    {ImplKind::kOut, "aten::arcsin", structured<native::structured_asin_out>},
    {ImplKind::kOut, "aten::arctan", structured<native::structured_atan_out>},
    {ImplKind::kOut, "aten::fix", structured<native::structured_trunc_out>},
    {ImplKind::kOut, "aten::abs", like_argument<abs>},
    {ImplKind::kOut, "aten::clamp", clamp},
    {ImplKind::kOut, "aten::clip", clamp},
    {ImplKind::kOut, "aten::clamp.Tensor", structured<native::structured_clamp_Tensor_out>},
    {ImplKind::kOut, "aten::clamp_min", structured<native::structured_clamp_min_out>},
    {ImplKind::kOut, "aten::clamp_min.Tensor", structured<native::structured_clamp_min_Tensor_out>},
    {ImplKind::kOut, "aten::clamp_max", structured<native::structured_clamp_max_out>},
    {ImplKind::kOut, "aten::clamp_max.Tensor", structured<native::structured_clamp_max_Tensor_out>},
    {ImplKind::kOut, "aten::elu", structured<native::structured_elu_out>},
    {ImplKind::kOut, "aten::gelu", structured<native::structured_gelu_out_cpu>},
    {ImplKind::kOut, "aten::glu", structured<native::structured_glu_out>},
    {ImplKind::kOut, "aten::hardshrink", structured<native::structured_hardshrink_out>},
    {ImplKind::kOut, "aten::hardswish", like_argument<hardswish>},
    {ImplKind::kOut, "aten::hardtanh", like_argument<hardtanh>},
    {ImplKind::kOut, "aten::isnan", isnan},
    {ImplKind::kOut, "aten::leaky_relu", structured<native::structured_leaky_relu_out>},
    {ImplKind::kOut, "aten::logical_not", like_argument<logical_not>},
    {ImplKind::kOut, "aten::logit", like_argument<logit>},
    {ImplKind::kOut, "aten::nan_to_num", like_argument<nan_to_num>},
    {ImplKind::kOut, "aten::relu", relu},
    {ImplKind::kOut, "aten::relu6", like_argument<relu6>},
    {ImplKind::kOut, "aten::round.decimals", structured<native::structured_round_decimals_out>},
    {ImplKind::kOut, "aten::softplus", structured<native::structured_softplus_out>},
    {ImplKind::kOut, "aten::softshrink", structured<native::structured_softshrink_out>},
    {ImplKind::kOut, "aten::square", square},
    {ImplKind::kOut, "aten::threshold", structured<native::structured_threshold_out>},
    {ImplKind::kOut, "aten::tril", structured<native::structured_tril_cpu>},
    {ImplKind::kOut, "aten::triu", structured<native::structured_triu_cpu>},
};

// These write their argument, so there is nothing to place.
using Clamp = at::Tensor& (*)(at::Tensor&, const std::optional<at::Scalar>&, const std::optional<at::Scalar>&);
using Bound = at::Tensor& (*)(at::Tensor&, const at::Scalar&);

const Registration kPointwiseUnaryInPlace[] = {
    {ImplKind::kNative, "aten::acos_", in_place<&at::cpu::acos_>},
    {ImplKind::kNative, "aten::acosh_", in_place<&at::cpu::acosh_>},
    {ImplKind::kNative, "aten::asin_", in_place<&at::cpu::asin_>},
    {ImplKind::kNative, "aten::asinh_", in_place<&at::cpu::asinh_>},
    {ImplKind::kNative, "aten::atan_", in_place<&at::cpu::atan_>},
    {ImplKind::kNative, "aten::atanh_", in_place<&at::cpu::atanh_>},
    {ImplKind::kNative, "aten::ceil_", in_place<&at::cpu::ceil_>},
    {ImplKind::kNative, "aten::cos_", in_place<&at::cpu::cos_>},
    {ImplKind::kNative, "aten::cosh_", in_place<&at::cpu::cosh_>},
    {ImplKind::kNative, "aten::digamma_", in_place<&at::cpu::digamma_>},
    {ImplKind::kNative, "aten::erf_", in_place<&at::cpu::erf_>},
    {ImplKind::kNative, "aten::erfc_", in_place<&at::cpu::erfc_>},
    {ImplKind::kNative, "aten::erfinv_", in_place<&at::cpu::erfinv_>},
    {ImplKind::kNative, "aten::exp_", in_place<&at::cpu::exp_>},
    {ImplKind::kNative, "aten::exp2_", in_place<&at::cpu::exp2_>},
    {ImplKind::kNative, "aten::expm1_", in_place<&at::cpu::expm1_>},
    {ImplKind::kNative, "aten::floor_", in_place<&at::cpu::floor_>},
    {ImplKind::kNative, "aten::frac_", in_place<&at::cpu::frac_>},
    {ImplKind::kNative, "aten::hardsigmoid_", in_place<&at::cpu::hardsigmoid_>},
    {ImplKind::kNative, "aten::lgamma_", in_place<&at::cpu::lgamma_>},
    {ImplKind::kNative, "aten::log_", in_place<&at::cpu::log_>},
    {ImplKind::kNative, "aten::log10_", in_place<&at::cpu::log10_>},
    {ImplKind::kNative, "aten::log1p_", in_place<&at::cpu::log1p_>},
    {ImplKind::kNative, "aten::log2_", in_place<&at::cpu::log2_>},
    {ImplKind::kNative, "aten::mish_", in_place<&at::cpu::mish_>},
    {ImplKind::kNative, "aten::neg_", in_place<&at::cpu::neg_>},
    {ImplKind::kNative, "aten::reciprocal_", in_place<&at::cpu::reciprocal_>},
    {ImplKind::kNative, "aten::round_", in_place<static_cast<at::Tensor& (*)(at::Tensor&)>(&at::cpu::round_)>},
    {ImplKind::kNative, "aten::rsqrt_", in_place<&at::cpu::rsqrt_>},
    {ImplKind::kNative, "aten::sgn_", in_place<&at::cpu::sgn_>},
    {ImplKind::kNative, "aten::sigmoid_", in_place<&at::cpu::sigmoid_>},
    {ImplKind::kNative, "aten::sign_", in_place<&at::cpu::sign_>},
    {ImplKind::kNative, "aten::silu_", in_place<&at::cpu::silu_>},
    {ImplKind::kNative, "aten::sin_", in_place<&at::cpu::sin_>},
    {ImplKind::kNative, "aten::sinh_", in_place<&at::cpu::sinh_>},
    {ImplKind::kNative, "aten::sqrt_", in_place<&at::cpu::sqrt_>},
    {ImplKind::kNative, "aten::tan_", in_place<&at::cpu::tan_>},
    {ImplKind::kNative, "aten::tanh_", in_place<&at::cpu::tanh_>},
    {ImplKind::kNative, "aten::trunc_", in_place<&at::cpu::trunc_>},
    {ImplKind::kNative, "aten::bitwise_not_", in_place<&at::cpu::bitwise_not_>},
    {ImplKind::kNative, "aten::clamp_", in_place<static_cast<Clamp>(&at::cpu::clamp_)>},
    {ImplKind::kNative, "aten::clamp_min_", in_place<static_cast<Bound>(&at::cpu::clamp_min_)>},
    {ImplKind::kNative, "aten::clamp_max_", in_place<static_cast<Bound>(&at::cpu::clamp_max_)>},
    {ImplKind::kNative, "aten::elu_", in_place<&at::cpu::elu_>},
    {ImplKind::kNative, "aten::gelu_", in_place<&at::cpu::gelu_>},
    {ImplKind::kNative, "aten::hardswish_", in_place<&at::cpu::hardswish_>},
    {ImplKind::kNative, "aten::hardtanh_", in_place<&at::cpu::hardtanh_>},
    {ImplKind::kNative, "aten::leaky_relu_", in_place<&at::cpu::leaky_relu_>},
    {ImplKind::kNative, "aten::relu_", relu_in_place},
    {ImplKind::kNative, "aten::threshold_", in_place<&at::cpu::threshold_>},
};

}  // namespace
}  // namespace stator
