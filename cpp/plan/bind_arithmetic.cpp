// Arithmetic of two tensors, or of several steps, as tile expressions.
#include <cmath>

#include "plan/collapse.h"
#include "plan/pointwise.h"

namespace stator {
namespace {

using TileNode = Pointwise::Node;
using O = TileOpcode;

// a + alpha * b and a - alpha * b; the first argument is `from`.
bool add_scaled(Binding& binding, double sign, size_t from) {
  Pointwise p(binding);
  const std::optional<double> alpha = binding.node().inputs.size() > 2 ? p.number_of(2) : 1.0;
  if (!p.begin(0, 1) || !alpha || !std::isfinite(*alpha)) return false;
  const TileNode a = p.in(from), b = p.in(1 - from);
  if (p.compute() == at::kBool) return *alpha == 1 && sign > 0 && p.store(p.op(O::kOr, a, b));
  if (*alpha == 1) return p.store(p.op(sign > 0 ? O::kAdd : O::kSub, a, b));
  if (p.compute() == at::kFloat && std::abs(*alpha) > 3.4e38) return false;
  return p.store(p.op(O::kMulAdd, b, p.number(sign * *alpha), a));
}

bool add(Binding& binding) { return add_scaled(binding, 1, 0); }
bool sub(Binding& binding) { return add_scaled(binding, -1, 0); }
bool rsub(Binding& binding) { return add_scaled(binding, -1, 1); }

bool pow_scalar(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> exponent = p.number_of(1);
  if (!exponent || !p.begin(0, 0) || p.compute() == at::kBool) return false;
  const bool real = p.is_real();
  const TileNode x = p.in(0);
  if (*exponent == 2) return p.store(p.op(O::kSquare, x));
  if (*exponent == 3) return p.store(p.op(O::kMul, p.op(O::kMul, x, x), x));
  if (*exponent == 0) return p.store(p.number(1));
  if (*exponent == 1) return p.store(x);
  if (!real) return false;
  if (*exponent == 0.5) return p.store(p.op(O::kSqrt, x));
  if (*exponent == -0.5) return p.store(p.op(O::kRsqrt, x));
  if (*exponent == -1) return p.store(p.op(O::kReciprocal, x));
  if (*exponent == -2) return p.store(p.op(O::kReciprocal, p.op(O::kSquare, x)));
  return p.store(p.op(O::kPow, x, p.number(*exponent)));
}

// A number to the power of a tensor's elements.
bool pow_of_number(Binding& binding) {
  Pointwise p(binding);
  return p.number_of(0) && *p.number_of(0) != 1 && p.begin_real(0, 1) && p.store(p.op(O::kPow, p.in(0), p.in(1)));
}

// Whether integers of this dtype can be divided by it: they can hold it, and it is not 0, which is an error.
bool divides(int64_t divisor, at::ScalarType dtype) {
  const int bits = static_cast<int>(8 * c10::elementSize(dtype));
  if (bits == 64) return divisor != 0;
  const bool is_signed = dtype != at::kByte;
  const int64_t end = int64_t{1} << (is_signed ? bits - 1 : bits);
  return divisor != 0 && divisor < end && divisor >= (is_signed ? -end : 0);
}

// The same of argument 1 and the result's dtype, if it is known: a number, or a tensor of one, which tracing makes of numbers.
bool divides_integers(const Binding& binding, const Pointwise& p) {
  if (p.compute() == at::kBool) return false;
  if (const std::optional<int64_t> number = p.integer_of(1)) return divides(*number, p.compute());
  const TensorView* view = binding.tensor(1);
  const at::Tensor* constant = view && view->meta.numel() == 1 ? binding.constant(*view) : nullptr;
  return constant && c10::isIntegralType(constant->scalar_type(), false) &&
         divides(constant->item().toLong(), p.compute());
}

// a / b made whole: kFloor or kTrunc.
bool divide(Binding& binding, TileOpcode rounding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || (!p.is_real() && !divides_integers(binding, p))) return false;
  const TileNode a = p.in(0), b = p.in(1);
  if (rounding == O::kFloor) return p.store(p.op(O::kDivFloor, a, b));
  const TileNode quotient = p.op(O::kDiv, a, b);
  return p.store(p.is_real() ? p.op(O::kTrunc, quotient) : quotient);
}

bool floor_divide(Binding& binding) { return divide(binding, O::kFloor); }

bool true_divide(Binding& binding) {
  Pointwise p(binding);
  return p.begin_real(0, 1) && p.store(p.op(O::kDiv, p.in(0), p.in(1)));
}

// (self, other, rounding mode)
bool divide_by_mode(Binding& binding) {
  const c10::IValue* mode = binding.known(2);
  if (is_none(mode)) return true_divide(binding);
  if (!mode || !mode->isString()) return false;
  return divide(binding, mode->toStringRef() == "floor" ? O::kFloor : O::kTrunc);
}

// What is left of a division.
template <TileOpcode kCode>
bool remainder(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || (!p.is_real() && !divides_integers(binding, p))) return false;
  return p.store(p.op(kCode, p.in(0), p.in(1)));
}

// (self, end, weight)
bool lerp(Binding& binding) {
  Pointwise p(binding);
  const auto weight = p.number_of(2);
  if (!weight || !p.begin_real(0, 1)) return false;
  const TileNode from = p.in(0), to = p.in(1), way = p.op(O::kSub, to, from);
  if (std::abs(*weight) < 0.5) return p.store(p.op(O::kAdd, from, p.op(O::kMul, p.number(*weight), way)));
  return p.store(p.op(O::kSub, to, p.op(O::kMul, way, p.number(1 - *weight))));
}

// The same with a weight for each element.
bool lerp_by_tensor(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 2)) return false;
  const TileNode from = p.in(0), to = p.in(1), weight = p.in(2), way = p.op(O::kSub, to, from);
  const TileNode near_from = p.op(O::kAdd, from, p.op(O::kMul, weight, way));
  const TileNode near_to = p.op(O::kSub, to, p.op(O::kMul, way, p.op(O::kSub, p.number(1), weight)));
  return p.store(p.op(O::kWhere, p.op(O::kLess, p.op(O::kAbs, weight), p.number(0.5)), near_from, near_to));
}

// self + value * a * b, self + value * a / b
template <TileOpcode kCode>
bool add_product(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> value = p.number_of(3);
  if (!value || !p.begin(0, 2) || p.compute() == at::kBool || (kCode == O::kDiv && !p.is_real())) return false;
  const TileNode scaled = p.op(O::kMul, p.number(*value), p.in(1));
  return p.store(p.op(O::kAdd, p.in(0), p.op(kCode, scaled, p.in(2))));
}

// The logarithm of a sum of powers: greatest + log(1 + exp(-distance)), and an infinity that is both.
TileNode log_of_sum(Pointwise& p, TileOpcode power, double log_unit) {
  const TileNode a = p.in(0), b = p.in(1), distance = p.op(O::kAbs, p.op(O::kSub, a, b));
  const TileNode tail = p.op(O::kLog1p, p.op(power, p.op(O::kNeg, distance)));
  const TileNode sum =
      p.op(O::kAdd, p.op(O::kMax, a, b), log_unit == 1 ? tail : p.op(O::kMul, tail, p.number(log_unit)));
  const TileNode same = p.op(O::kEqual, a, b), endless = p.op(O::kEqual, p.op(O::kAbs, a), p.number(INFINITY));
  return p.op(O::kWhere, p.op(O::kAnd, same, endless), a, sum);
}

bool logaddexp(Binding& binding) {
  Pointwise p(binding);
  return p.begin_real(0, 1) && p.store(log_of_sum(p, O::kExp, 1));
}

bool logaddexp2(Binding& binding) {
  Pointwise p(binding);
  return p.begin_real(0, 1) && p.store(log_of_sum(p, O::kExp2, 1 / std::log(2.0)));
}

// a * log(b), 0 where a is 0, but NaN where b is.
bool xlogy(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 1)) return false;
  const TileNode a = p.in(0), b = p.in(1), zero = p.number(0);
  const TileNode product = p.op(O::kWhere, p.op(O::kEqual, a, zero), zero, p.op(O::kMul, a, p.op(O::kLog, b)));
  return p.store(p.op(O::kWhere, p.op(O::kNotEqual, b, b), b, product));
}

// log(x / (1 - x)) of x that is kept from 0 and 1 by `eps`, if that is given.
bool logit(Binding& binding) {
  Pointwise p(binding);
  const auto eps = is_none(binding.known(1)) ? -1.0 : p.number_of(1);
  if (!eps || !p.begin_real(0, 0)) return false;
  TileNode x = p.in(0);
  if (*eps >= 0) {
    const TileNode least = p.number(*eps), most = p.number(1 - *eps);
    const TileNode not_above = p.op(O::kWhere, p.op(O::kGreater, x, most), most, x);
    x = p.op(O::kWhere, p.op(O::kLess, x, least), least, not_above);
  }
  return p.store(p.op(O::kLog, p.op(O::kDiv, x, p.op(O::kSub, p.number(1), x))));
}

bool sinc(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0), angle = p.op(O::kMul, x, p.number(M_PI));
  const TileNode ratio = p.op(O::kDiv, p.op(O::kSin, angle), angle);
  return p.store(p.op(O::kWhere, p.op(O::kEqual, x, p.number(0)), p.number(1), ratio));
}

bool scaled(Binding& binding, double by) {
  Pointwise p(binding);
  return p.begin_real(0, 0) && p.store(p.op(O::kMul, p.in(0), p.number(by)));
}
bool deg2rad(Binding& binding) { return scaled(binding, M_PI / 180); }
bool rad2deg(Binding& binding) { return scaled(binding, 180 / M_PI); }

// 0 below zero, 1 above, what argument 1 says where it is zero.
bool heaviside(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || p.compute() == at::kBool) return false;
  const TileNode x = p.in(0), zero = p.number(0);
  const TileNode step = p.op(O::kWhere, p.op(O::kGreater, x, zero), p.number(1), zero);
  return p.store(p.op(O::kWhere, p.op(O::kEqual, x, zero), p.in(1), step));
}

// As the greatest and least, but a number wins over NaN.
template <TileOpcode kCode>
bool of_numbers(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || p.compute() == at::kBool) return false;
  const TileNode a = p.in(0), b = p.in(1), best = p.op(kCode, a, b);
  if (!p.is_real()) return p.store(best);
  const TileNode or_a = p.op(O::kWhere, p.op(O::kNotEqual, b, b), a, best);
  return p.store(p.op(O::kWhere, p.op(O::kNotEqual, a, a), b, or_a));
}

const PointwiseRegistration kArithmetic{
    {"aten::add.Tensor", add},
    {"aten::add.Scalar", add},
    {"aten::sub.Tensor", sub},
    {"aten::sub.Scalar", sub},
    {"aten::subtract.Tensor", sub},
    {"aten::subtract.Scalar", sub},
    {"aten::rsub.Scalar", rsub},
    {"aten::rsub.Tensor", rsub},
    {"aten::div.Tensor", true_divide},
    {"aten::div.Scalar", true_divide},
    {"aten::div.Tensor_mode", divide_by_mode},
    {"aten::div.Scalar_mode", divide_by_mode},
    {"aten::divide.Tensor", true_divide},
    {"aten::divide.Scalar", true_divide},
    {"aten::divide.Tensor_mode", divide_by_mode},
    {"aten::divide.Scalar_mode", divide_by_mode},
    {"aten::true_divide.Tensor", true_divide},
    {"aten::true_divide.Scalar", true_divide},
    {"aten::floor_divide", floor_divide},
    {"aten::floor_divide.Scalar", floor_divide},
    {"aten::fmod.Tensor", remainder<O::kFmod>},
    {"aten::fmod.Scalar", remainder<O::kFmod>},
    {"aten::remainder.Tensor", remainder<O::kRemainder>},
    {"aten::remainder.Scalar", remainder<O::kRemainder>},
    {"aten::pow.Tensor_Scalar", pow_scalar},
    {"aten::pow.Scalar", pow_of_number},
    {"aten::float_power.Tensor_Scalar", pow_scalar},
    {"aten::float_power.Scalar", pow_of_number},
    {"aten::lerp.Scalar", lerp},
    {"aten::lerp.Tensor", lerp_by_tensor},
    {"aten::addcmul", add_product<O::kMul>},
    {"aten::addcdiv", add_product<O::kDiv>},
    {"aten::logaddexp", logaddexp},
    {"aten::logaddexp2", logaddexp2},
    {"aten::xlogy.Tensor", xlogy},
    {"aten::xlogy.Scalar_Self", xlogy},
    {"aten::xlogy.Scalar_Other", xlogy},
    {"aten::logit", logit},
    {"aten::sinc", sinc},
    {"aten::deg2rad", deg2rad},
    {"aten::rad2deg", rad2deg},
    {"aten::heaviside", heaviside},
    {"aten::fmax", of_numbers<O::kMax>},
    {"aten::fmin", of_numbers<O::kMin>},
};

}  // namespace
}  // namespace stator
