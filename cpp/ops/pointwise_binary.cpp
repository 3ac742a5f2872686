// Pointwise operators of two and more tensors, broadcasting.
#include <ATen/CPUFunctions.h>
#include <ATen/ExpandUtils.h>
#include <ATen/NativeFunctions.h>
#include <ATen/ScalarOps.h>

#include "ops/copy.h"
#include "ops/registry.h"
#include "ops/short_loops.h"
#include "ops/structured.h"

namespace stator {
namespace {

namespace native = at::native;

template <class S, class F>
void short_or_tensor(const Call& call) {
  if (!short_tensor_tensor<F>(call)) structured<S>(call);
}

template <class S, class F>
void short_or_number(const Call& call) {
  if (!short_tensor_number<F>(call)) structured<S, 1>(call);
}

// self + alpha * other
template <class S, class F>
void alpha_tensor(const Call& call) {
  if (!is_one(call.in(2)) || !short_tensor_tensor<F>(call)) structured<S>(call);
}

template <class S, class F>
void alpha_number(const Call& call) {
  if (!is_one(call.in(2)) || !short_tensor_number<F>(call)) structured<S, 1>(call);
}

// Argument 1 as a tensor, whatever it is.
template <bool kNumber>
using Second = std::conditional_t<kNumber, WrappedNumber, Argument<const at::Tensor&>>;

template <bool kNumber>
void rsub(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  const Second<kNumber> other(call.in(1));
  if (!is_plain(self) || !other.plain()) return run_boxed(call);
  run_structured<native::structured_sub_out>(call, other.get(), self, call.in(2).toScalar());
}

template <bool kNumber>
void floor_divide(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  const Second<kNumber> other(call.in(1));
  if (!is_plain(self) || !other.plain()) return run_boxed(call);
  run_structured<native::structured_div_out_mode>(call, self, other.get(), std::optional<std::string_view>("floor"));
}

// Sizes and strides that a TensorIterator gives a fresh result, in the two cases where that is plain to see: all arguments contiguous, one of
// them of the result's shape (where all are broadcast, it may turn the order of dimensions); or all of one shape and one dense order.
// False otherwise.
template <class... T>
bool iterator_shape(at::DimVector& sizes, at::DimVector& strides, const at::Tensor& first, const T&... rest) {
  if (first.is_contiguous() && (rest.is_contiguous() && ...)) {
    sizes = first.sizes();
    ((sizes = at::infer_size_dimvector(sizes, rest.sizes())), ...);
    strides.clear();
    return first.sizes() == sizes || ((rest.sizes() == sizes) || ...);
  }
  if (!first.is_non_overlapping_and_dense() ||
      !((rest.sizes() == first.sizes() && rest.strides() == first.strides()) && ...))
    return false;
  sizes = first.sizes();
  strides = first.strides();
  return true;
}

template <auto F>
void logical(const Call& call) {
  const at::Tensor &self = call.tensor(0), &other = call.tensor(1);
  at::DimVector sizes, strides;
  if (!is_plain(self) || !is_plain(other) || !iterator_shape(sizes, strides, self, other)) return run_boxed(call);
  F(self, other, call.output(0, sizes, strides, at::kBool));
}

void where_tensors(const Call& call, const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  at::DimVector sizes, strides;
  if (!is_plain(condition) || !is_plain(self) || !is_plain(other) ||
      !iterator_shape(sizes, strides, condition, self, other)) {
    return run_boxed(call);
  }
  native::where_self_out(condition, self, other, call.output(0, sizes, strides, native::result_type(self, other)));
}

void where(const Call& call) { where_tensors(call, call.tensor(0), call.tensor(1), call.tensor(2)); }

// The number becomes a tensor of the result's dtype.
template <int kNumber>
void where_number(const Call& call) {
  const at::Tensor& tensor = call.tensor(3 - kNumber);
  const at::Scalar number = call.in(kNumber).toScalar();
  if (!is_plain(tensor) || native::result_type(tensor, number) != tensor.scalar_type()) return run_boxed(call);
  const at::Tensor filled = at::scalar_tensor(number, tensor.options());
  where_tensors(call, call.tensor(0), kNumber == 1 ? filled : tensor, kNumber == 1 ? tensor : filled);
}

template <class T>
T fill_value(const c10::IValue& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) return value.toTensor();
  else return value.toScalar();
}

template <class T>
bool fillable(const Call& call) {
  return is_plain(call.tensor(0)) && is_plain(call.tensor(1)) &&
         (std::is_same_v<T, at::Scalar> || is_plain(call.in(2)));
}

template <class T>
void masked_fill(const Call& call) {
  if (!fillable<T>(call)) return run_boxed(call);
  const at::Tensor &self = call.tensor(0), &mask = call.tensor(1);
  at::Tensor& out = call.output(0, at::infer_size_dimvector(mask.sizes(), self.sizes()), {}, self.scalar_type());
  copy_into(out, self);
  native::masked_fill__cpu(out, mask, fill_value<T>(call.in(2)));
}

template <class T>
void masked_fill_in_place(const Call& call) {
  if (!fillable<T>(call)) return run_boxed(call);
  native::masked_fill__cpu(call.mutable_in(0).toTensor(), call.tensor(1), fill_value<T>(call.in(2)));
  call.out() = call.in(0);
}

const Registration kPointwiseBinary[] = {
    {ImplKind::kOut, "aten::add.Tensor", alpha_tensor<native::structured_ufunc_add_CPU, AddFloat>},
    {ImplKind::kOut, "aten::add.Scalar", alpha_number<native::structured_ufunc_add_CPU, AddFloat>},
    {ImplKind::kOut, "aten::sub.Tensor", alpha_tensor<native::structured_sub_out, SubFloat>},
    {ImplKind::kOut, "aten::sub.Scalar", alpha_number<native::structured_sub_out, SubFloat>},
    {ImplKind::kOut, "aten::mul.Tensor", short_or_tensor<native::structured_mul_out, MulFloat>},
    {ImplKind::kOut, "aten::mul.Scalar", short_or_number<native::structured_mul_out, MulFloat>},
    {ImplKind::kOut, "aten::div.Tensor", short_or_tensor<native::structured_div_out, DivFloat>},
    {ImplKind::kOut, "aten::div.Scalar", short_or_number<native::structured_div_out, DivFloat>},
    {ImplKind::kOut, "aten::multiply.Tensor", structured<native::structured_mul_out>},
    {ImplKind::kOut, "aten::multiply.Scalar", structured<native::structured_mul_out, 1>},
    {ImplKind::kOut, "aten::divide.Tensor", structured<native::structured_div_out>},
    {ImplKind::kOut, "aten::divide.Scalar", structured<native::structured_div_out, 1>},
    {ImplKind::kOut, "aten::true_divide.Tensor", structured<native::structured_div_out>},
    {ImplKind::kOut, "aten::true_divide.Scalar", structured<native::structured_div_out, 1>},
    {ImplKind::kOut, "aten::subtract.Tensor", structured<native::structured_sub_out>},
    {ImplKind::kOut, "aten::subtract.Scalar", structured<native::structured_sub_out, 1>},
    {ImplKind::kOut, "aten::div.Tensor_mode", structured<native::structured_div_out_mode>},
    {ImplKind::kOut, "aten::div.Scalar_mode", structured<native::structured_div_out_mode, 1>},
    {ImplKind::kOut, "aten::floor_divide", floor_divide<false>},
    {ImplKind::kOut, "aten::floor_divide.Scalar", floor_divide<true>},
    {ImplKind::kOut, "aten::rsub.Tensor", rsub<false>},
    {ImplKind::kOut, "aten::rsub.Scalar", rsub<true>},
    {ImplKind::kOut, "aten::remainder.Tensor", structured<native::structured_remainder_out>},
    {ImplKind::kOut, "aten::remainder.Scalar", structured<native::structured_remainder_out, 1>},
    {ImplKind::kOut, "aten::fmod.Tensor", structured<native::structured_fmod_out>},
    {ImplKind::kOut, "aten::fmod.Scalar", structured<native::structured_fmod_out, 1>},
    {ImplKind::kOut, "aten::pow.Tensor_Tensor", structured<native::structured_pow_Tensor_Tensor_out>},
    {ImplKind::kOut, "aten::pow.Tensor_Scalar", structured<native::structured_pow_Tensor_Scalar_out>},
    {ImplKind::kOut, "aten::pow.Scalar", structured<native::structured_pow_Scalar_out>},
    {ImplKind::kOut, "aten::eq.Tensor", structured<native::structured_eq_Tensor_out>},
    {ImplKind::kOut, "aten::eq.Scalar", structured<native::structured_eq_Scalar_out>},
    {ImplKind::kOut, "aten::ne.Tensor", structured<native::structured_ne_Tensor_out>},
    {ImplKind::kOut, "aten::ne.Scalar", structured<native::structured_ne_Scalar_out>},
    {ImplKind::kOut, "aten::lt.Tensor", structured<native::structured_lt_Tensor_out>},
    {ImplKind::kOut, "aten::lt.Scalar", structured<native::structured_lt_Scalar_out>},
    {ImplKind::kOut, "aten::le.Tensor", structured<native::structured_le_Tensor_out>},
    {ImplKind::kOut, "aten::le.Scalar", structured<native::structured_le_Scalar_out>},
    {ImplKind::kOut, "aten::gt.Tensor", structured<native::structured_gt_Tensor_out>},
    {ImplKind::kOut, "aten::gt.Scalar", structured<native::structured_gt_Scalar_out>},
    {ImplKind::kOut, "aten::ge.Tensor", structured<native::structured_ge_Tensor_out>},
    {ImplKind::kOut, "aten::ge.Scalar", structured<native::structured_ge_Scalar_out>},
    {ImplKind::kOut, "aten::maximum", structured<native::structured_maximum_out>},
    {ImplKind::kOut, "aten::minimum", structured<native::structured_minimum_out>},
    {ImplKind::kOut, "aten::fmax", structured<native::structured_fmax_out>},
    {ImplKind::kOut, "aten::fmin", structured<native::structured_fmin_out>},
    {ImplKind::kOut, "aten::atan2", structured<native::structured_atan2_out>},
    {ImplKind::kOut, "aten::hypot", structured<native::structured_hypot_out>},
    {ImplKind::kOut, "aten::logaddexp", structured<native::structured_logaddexp_out>},
    {ImplKind::kOut, "aten::logaddexp2", structured<native::structured_logaddexp2_out>},
    {ImplKind::kOut, "aten::nextafter", structured<native::structured_nextafter_out>},
    {ImplKind::kOut, "aten::heaviside", structured<native::structured_heaviside_out>},
    {ImplKind::kOut, "aten::gcd", structured<native::structured_gcd_out>},
    {ImplKind::kOut, "aten::lcm", structured<native::structured_lcm_out>},
    {ImplKind::kOut, "aten::max.other", structured<native::structured_maximum_out>},
    {ImplKind::kOut, "aten::min.other", structured<native::structured_minimum_out>},
    {ImplKind::kOut, "aten::xlogy.Tensor", structured<native::structured_xlogy_out>},
    {ImplKind::kOut, "aten::copysign.Tensor", structured<native::structured_copysign_out>},
    {ImplKind::kOut, "aten::bitwise_and.Tensor", structured<native::structured_bitwise_and_out>},
    {ImplKind::kOut, "aten::bitwise_and.Scalar", structured<native::structured_bitwise_and_out, 1>},
    {ImplKind::kOut, "aten::__and__.Tensor", structured<native::structured_bitwise_and_out>},
    {ImplKind::kOut, "aten::__and__.Scalar", structured<native::structured_bitwise_and_out, 1>},
    {ImplKind::kOut, "aten::bitwise_or.Tensor", structured<native::structured_bitwise_or_out>},
    {ImplKind::kOut, "aten::bitwise_or.Scalar", structured<native::structured_bitwise_or_out, 1>},
    {ImplKind::kOut, "aten::__or__.Tensor", structured<native::structured_bitwise_or_out>},
    {ImplKind::kOut, "aten::__or__.Scalar", structured<native::structured_bitwise_or_out, 1>},
    {ImplKind::kOut, "aten::bitwise_xor.Tensor", structured<native::structured_bitwise_xor_out>},
    {ImplKind::kOut, "aten::bitwise_xor.Scalar", structured<native::structured_bitwise_xor_out, 1>},
    {ImplKind::kOut, "aten::__xor__.Tensor", structured<native::structured_bitwise_xor_out>},
    {ImplKind::kOut, "aten::__xor__.Scalar", structured<native::structured_bitwise_xor_out, 1>},
    {ImplKind::kOut, "aten::bitwise_left_shift.Tensor", structured<native::structured_bitwise_left_shift_out>},
    {ImplKind::kOut, "aten::bitwise_left_shift.Tensor_Scalar",
     structured<native::structured_bitwise_left_shift_out, 1>},
    {ImplKind::kOut, "aten::bitwise_right_shift.Tensor", structured<native::structured_bitwise_right_shift_out>},
    {ImplKind::kOut, "aten::bitwise_right_shift.Tensor_Scalar",
     structured<native::structured_bitwise_right_shift_out, 1>},
    {ImplKind::kOut, "aten::logical_and", logical<&at::cpu::logical_and_outf>},
    {ImplKind::kOut, "aten::logical_or", logical<&at::cpu::logical_or_outf>},
    {ImplKind::kOut, "aten::logical_xor", logical<&at::cpu::logical_xor_outf>},
    {ImplKind::kOut, "aten::addcmul", structured<native::structured_addcmul_out>},
    {ImplKind::kOut, "aten::addcdiv", structured<native::structured_addcdiv_out>},
    {ImplKind::kOut, "aten::lerp.Scalar", structured<native::structured_lerp_Scalar>},
    {ImplKind::kOut, "aten::lerp.Tensor", structured<native::structured_lerp_Tensor>},
    {ImplKind::kOut, "aten::where.self", where},
    {ImplKind::kOut, "aten::where.ScalarOther", where_number<2>},
    {ImplKind::kOut, "aten::where.ScalarSelf", where_number<1>},
    {ImplKind::kOut, "aten::masked_fill.Scalar", masked_fill<at::Scalar>},
    {ImplKind::kOut, "aten::masked_fill.Tensor", masked_fill<at::Tensor>},
};

using InPlaceTensors = at::Tensor& (*)(at::Tensor&, const at::Tensor&);
using Number = at::Tensor& (*)(at::Tensor&, const at::Scalar&);
using Division = at::Tensor& (*)(at::Tensor&, const at::Tensor&, std::optional<std::string_view>);

const Registration kPointwiseBinaryInPlace[] = {
    {ImplKind::kNative, "aten::add_.Tensor", in_place<&at::cpu::add_>},
    {ImplKind::kNative, "aten::add_.Scalar", in_place<&at::cpu::add_, 1>},
    {ImplKind::kNative, "aten::sub_.Tensor", in_place<&at::cpu::sub_>},
    {ImplKind::kNative, "aten::sub_.Scalar", in_place<&at::cpu::sub_, 1>},
    {ImplKind::kNative, "aten::mul_.Tensor", in_place<&at::cpu::mul_>},
    {ImplKind::kNative, "aten::mul_.Scalar", in_place<&at::cpu::mul_, 1>},
    {ImplKind::kNative, "aten::div_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::div_)>},
    {ImplKind::kNative, "aten::div_.Scalar", in_place<static_cast<InPlaceTensors>(&at::cpu::div_), 1>},
    {ImplKind::kNative, "aten::div_.Tensor_mode", in_place<static_cast<Division>(&at::cpu::div_)>},
    {ImplKind::kNative, "aten::div_.Scalar_mode", in_place<static_cast<Division>(&at::cpu::div_), 1>},
    {ImplKind::kNative, "aten::remainder_.Tensor", in_place<&at::cpu::remainder_>},
    {ImplKind::kNative, "aten::remainder_.Scalar", in_place<&at::cpu::remainder_, 1>},
    {ImplKind::kNative, "aten::fmod_.Tensor", in_place<&at::cpu::fmod_>},
    {ImplKind::kNative, "aten::fmod_.Scalar", in_place<&at::cpu::fmod_, 1>},
    {ImplKind::kNative, "aten::pow_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::pow_)>},
    {ImplKind::kNative, "aten::pow_.Scalar", in_place<static_cast<Number>(&at::cpu::pow_)>},
    {ImplKind::kNative, "aten::eq_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::eq_)>},
    {ImplKind::kNative, "aten::eq_.Scalar", in_place<static_cast<Number>(&at::cpu::eq_)>},
    {ImplKind::kNative, "aten::ne_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::ne_)>},
    {ImplKind::kNative, "aten::ne_.Scalar", in_place<static_cast<Number>(&at::cpu::ne_)>},
    {ImplKind::kNative, "aten::lt_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::lt_)>},
    {ImplKind::kNative, "aten::lt_.Scalar", in_place<static_cast<Number>(&at::cpu::lt_)>},
    {ImplKind::kNative, "aten::le_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::le_)>},
    {ImplKind::kNative, "aten::le_.Scalar", in_place<static_cast<Number>(&at::cpu::le_)>},
    {ImplKind::kNative, "aten::gt_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::gt_)>},
    {ImplKind::kNative, "aten::gt_.Scalar", in_place<static_cast<Number>(&at::cpu::gt_)>},
    {ImplKind::kNative, "aten::ge_.Tensor", in_place<static_cast<InPlaceTensors>(&at::cpu::ge_)>},
    {ImplKind::kNative, "aten::ge_.Scalar", in_place<static_cast<Number>(&at::cpu::ge_)>},
    {ImplKind::kNative, "aten::bitwise_and_.Tensor", in_place<&at::cpu::bitwise_and_>},
    {ImplKind::kNative, "aten::bitwise_and_.Scalar", in_place<&at::cpu::bitwise_and_, 1>},
    {ImplKind::kNative, "aten::bitwise_or_.Tensor", in_place<&at::cpu::bitwise_or_>},
    {ImplKind::kNative, "aten::bitwise_or_.Scalar", in_place<&at::cpu::bitwise_or_, 1>},
    {ImplKind::kNative, "aten::bitwise_xor_.Tensor", in_place<&at::cpu::bitwise_xor_>},
    {ImplKind::kNative, "aten::bitwise_xor_.Scalar", in_place<&at::cpu::bitwise_xor_, 1>},
    {ImplKind::kNative, "aten::addcmul_", in_place<&at::cpu::addcmul_>},
    {ImplKind::kNative, "aten::addcdiv_", in_place<&at::cpu::addcdiv_>},
    {ImplKind::kNative, "aten::masked_fill_.Scalar", masked_fill_in_place<at::Scalar>},
    {ImplKind::kNative, "aten::masked_fill_.Tensor", masked_fill_in_place<at::Tensor>},
};

}  // namespace
}  // namespace stator
