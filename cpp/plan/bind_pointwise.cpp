// Pointwise operators of one step as tile expressions.
#include <cmath>
#include <limits>

#include "plan/collapse.h"
#include "plan/pointwise.h"

namespace stator {
namespace {

using TileNode = Pointwise::Node;
using O = TileOpcode;

// One input, a floating point result.
template <TileOpcode kCode>
bool real_unary(Binding& binding) {
  Pointwise p(binding);
  return p.begin_real(0, 0) && p.store(p.op(kCode, p.in(0)));
}

// One input, a result of its dtype; integers too. bool is refused.
template <TileOpcode kCode>
bool unary(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 0) && p.compute() != at::kBool && p.store(p.op(kCode, p.in(0)));
}

// The same, and integers stay what they are.
template <TileOpcode kCode>
bool rounding(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || p.compute() == at::kBool) return false;
  return p.store(p.is_real() ? p.op(kCode, p.in(0)) : p.in(0));
}

// Of bools the greatest is whether any is true, the least whether all are.
template <TileOpcode kCode>
bool extreme(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1)) return false;
  const TileOpcode of_bools = kCode == O::kMax ? O::kOr : O::kAnd;
  return p.store(p.op(p.compute() == at::kBool ? of_bools : kCode, p.in(0), p.in(1)));
}

template <TileOpcode kCode>
bool real_binary(Binding& binding) {
  Pointwise p(binding);
  return p.begin_real(0, 1) && p.store(p.op(kCode, p.in(0), p.in(1)));
}

bool logical_mul(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1)) return false;
  return p.store(p.op(p.compute() == at::kBool ? O::kAnd : O::kMul, p.in(0), p.in(1)));
}

template <TileOpcode kCode>
bool compare(Binding& binding) {
  const auto dtype = common_dtype(binding, 0, 1);
  Pointwise p(binding);
  return dtype && p.begin(0, 1, *dtype) && p.store(p.op(kCode, p.in(0), p.in(1)), at::kBool);
}

// Any dtype counts as a truth.
template <TileOpcode kCode>
bool logical(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 1, at::kBool) && p.store(p.op(kCode, p.in(0), p.in(1)), at::kBool);
}

bool logical_not(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 0, at::kBool) && p.store(p.op(O::kNot, p.in(0)), at::kBool);
}

template <TileOpcode kOfInts, TileOpcode kOfBools>
bool bitwise(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || p.is_real()) return false;
  return p.store(p.op(p.compute() == at::kBool ? kOfBools : kOfInts, p.in(0), p.in(1)));
}

bool bitwise_not(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || p.is_real()) return false;
  return p.store(p.op(p.compute() == at::kBool ? O::kNot : O::kBitNot, p.in(0)));
}

template <TileOpcode kCode>
bool shift(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 1) && p.type() == TileType::kInt && p.store(p.op(kCode, p.in(0), p.in(1)));
}

// What is said of each element of argument 0, in its own dtype.
enum class Property { kNan, kInfinite, kInfinity, kMinusInfinity, kFinite, kNegative };

TileNode says(Pointwise& p, Property property) {
  const TileNode x = p.in(0);
  if (property == Property::kNegative) {
    const TileNode sign = p.is_real() ? p.op(O::kCopysign, p.number(1), x) : x;
    return p.op(O::kLess, sign, p.number(0));
  }
  if (property == Property::kNan || !p.is_real())
    return p.op(property == Property::kFinite ? O::kEqual : O::kNotEqual, x, x);
  if (property == Property::kInfinity) return p.op(O::kEqual, x, p.number(INFINITY));
  if (property == Property::kMinusInfinity) return p.op(O::kEqual, x, p.number(-INFINITY));
  return p.op(property == Property::kFinite ? O::kLess : O::kEqual, p.op(O::kAbs, x), p.number(INFINITY));
}

template <Property kProperty>
bool property(Binding& binding) {
  const TensorView* x = binding.tensor(0);
  Pointwise p(binding);
  return x && p.begin(0, 0, x->meta.dtype) && p.store(says(p, kProperty), at::kBool);
}

double greatest(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::max();
    case at::kHalf:
      return std::numeric_limits<c10::Half>::max();
    case at::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

// (self, for NaN, for infinity, for minus infinity)
bool nan_to_num(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0)) return false;
  const TileNode x = p.in(0);
  if (!p.is_real()) return p.store(x);
  const double limit = greatest(p.compute()), defaults[] = {0, limit, -limit};
  TileNode instead[3];
  for (size_t i = 0; i < 3; ++i) {
    const auto number = is_none(binding.known(i + 1)) ? defaults[i] : p.number_of(i + 1);
    if (!number) return false;
    instead[i] = p.number(*number);
  }
  TileNode made = p.op(O::kWhere, p.op(O::kEqual, x, p.number(-INFINITY)), instead[2], x);
  made = p.op(O::kWhere, p.op(O::kEqual, x, p.number(INFINITY)), instead[1], made);
  return p.store(p.op(O::kWhere, p.op(O::kNotEqual, x, x), instead[0], made));
}

bool where(Binding& binding) {
  const TensorView* condition = binding.tensor(0);
  Pointwise p(binding);
  if (!condition || condition->meta.dtype != at::kBool || !p.begin(1, 2)) return false;
  return p.store(p.op(O::kWhere, p.as(0, at::kBool), p.in(1), p.in(2)));
}

bool masked_fill(Binding& binding) {
  const TensorView* mask = binding.tensor(1);
  const TensorView* value = binding.tensor(2);
  Pointwise p(binding);
  if (!mask || mask->meta.dtype != at::kBool || (value && value->meta.dim() != 0) || !p.begin(0, 0)) return false;
  if (!value && !p.is_number(2)) return false;
  if (value && !tile_type(value->meta.dtype)) return false;
  return p.store(p.op(O::kWhere, p.as(1, at::kBool), p.in(2), p.in(0)));
}

// Results of one number: zeros, ones, full and their kin. `at`: of the argument that says which; -1: `number`.
template <int kArgument, int kNumber>
bool fill(Binding& binding) {
  // The size that was seen is right again only if it follows from the signature: it may have been read from a tensor.
  const auto size = binding.node().op->schema.argumentIndexWithName("size");
  if (size && !binding.known(static_cast<size_t>(*size))) return false;
  Pointwise p(binding);
  if (!p.begin(1, 0)) return false;
  if constexpr (kArgument >= 0) {
    return p.is_number(kArgument) && p.store(p.in(kArgument));
  } else {
    return p.store(p.number(kNumber));
  }
}

// Argument 1, as wide as the result.
bool copy_of_other(Binding& binding) {
  Pointwise p(binding);
  return binding.tensor(1) && p.begin(1, 1) && p.store(p.in(1));
}

bool copy(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 0) && p.store(p.in(0));
}

const PointwiseRegistration kPointwise{
    {"aten::exp", real_unary<O::kExp>},
    {"aten::exp2", real_unary<O::kExp2>},
    {"aten::special_exp2", real_unary<O::kExp2>},
    {"aten::expm1", real_unary<O::kExpm1>},
    {"aten::special_expm1", real_unary<O::kExpm1>},
    {"aten::log", real_unary<O::kLog>},
    {"aten::log2", real_unary<O::kLog2>},
    {"aten::log10", real_unary<O::kLog10>},
    {"aten::log1p", real_unary<O::kLog1p>},
    {"aten::special_log1p", real_unary<O::kLog1p>},
    {"aten::sqrt", real_unary<O::kSqrt>},
    {"aten::rsqrt", real_unary<O::kRsqrt>},
    {"aten::reciprocal", real_unary<O::kReciprocal>},
    {"aten::sin", real_unary<O::kSin>},
    {"aten::cos", real_unary<O::kCos>},
    {"aten::tan", real_unary<O::kTan>},
    {"aten::asin", real_unary<O::kAsin>},
    {"aten::arcsin", real_unary<O::kAsin>},
    {"aten::acos", real_unary<O::kAcos>},
    {"aten::arccos", real_unary<O::kAcos>},
    {"aten::atan", real_unary<O::kAtan>},
    {"aten::arctan", real_unary<O::kAtan>},
    {"aten::asinh", real_unary<O::kAsinh>},
    {"aten::arcsinh", real_unary<O::kAsinh>},
    {"aten::acosh", real_unary<O::kAcosh>},
    {"aten::arccosh", real_unary<O::kAcosh>},
    {"aten::atanh", real_unary<O::kAtanh>},
    {"aten::arctanh", real_unary<O::kAtanh>},
    {"aten::sinh", real_unary<O::kSinh>},
    {"aten::cosh", real_unary<O::kCosh>},
    {"aten::tanh", real_unary<O::kTanh>},
    {"aten::sigmoid", real_unary<O::kSigmoid>},
    {"aten::special_expit", real_unary<O::kSigmoid>},
    {"aten::erf", real_unary<O::kErf>},
    {"aten::special_erf", real_unary<O::kErf>},
    {"aten::erfc", real_unary<O::kErfc>},
    {"aten::special_erfc", real_unary<O::kErfc>},
    {"aten::lgamma", real_unary<O::kLgamma>},
    {"aten::special_gammaln", real_unary<O::kLgamma>},
    {"aten::silu", real_unary<O::kSilu>},
    {"aten::mish", real_unary<O::kMish>},
    {"aten::hardswish", real_unary<O::kHardswish>},
    {"aten::hardsigmoid", real_unary<O::kHardsigmoid>},
    {"aten::frac", real_unary<O::kFrac>},
    {"aten::neg", unary<O::kNeg>},
    {"aten::negative", unary<O::kNeg>},
    {"aten::abs", unary<O::kAbs>},
    {"aten::absolute", unary<O::kAbs>},
    {"aten::relu", unary<O::kRelu>},
    {"aten::sign", unary<O::kSign>},
    {"aten::sgn", unary<O::kSign>},
    {"aten::square", unary<O::kSquare>},
    {"aten::floor", rounding<O::kFloor>},
    {"aten::ceil", rounding<O::kCeil>},
    {"aten::round", rounding<O::kRound>},
    {"aten::trunc", rounding<O::kTrunc>},
    {"aten::fix", rounding<O::kTrunc>},
    {"aten::mul.Tensor", logical_mul},
    {"aten::multiply.Tensor", logical_mul},
    {"aten::mul.Scalar", logical_mul},
    {"aten::multiply.Scalar", logical_mul},
    {"aten::maximum", extreme<O::kMax>},
    {"aten::minimum", extreme<O::kMin>},
    {"aten::max.other", extreme<O::kMax>},
    {"aten::min.other", extreme<O::kMin>},
    {"aten::clamp_min.Tensor", extreme<O::kMax>},
    {"aten::clamp_max.Tensor", extreme<O::kMin>},
    {"aten::pow.Tensor_Tensor", real_binary<O::kPow>},
    {"aten::float_power.Tensor_Tensor", real_binary<O::kPow>},
    {"aten::atan2", real_binary<O::kAtan2>},
    {"aten::arctan2", real_binary<O::kAtan2>},
    {"aten::hypot", real_binary<O::kHypot>},
    {"aten::copysign.Tensor", real_binary<O::kCopysign>},
    {"aten::copysign.Scalar", real_binary<O::kCopysign>},
    {"aten::eq.Tensor", compare<O::kEqual>},
    {"aten::eq.Scalar", compare<O::kEqual>},
    {"aten::ne.Tensor", compare<O::kNotEqual>},
    {"aten::not_equal.Tensor", compare<O::kNotEqual>},
    {"aten::ne.Scalar", compare<O::kNotEqual>},
    {"aten::not_equal.Scalar", compare<O::kNotEqual>},
    {"aten::lt.Tensor", compare<O::kLess>},
    {"aten::less.Tensor", compare<O::kLess>},
    {"aten::lt.Scalar", compare<O::kLess>},
    {"aten::less.Scalar", compare<O::kLess>},
    {"aten::le.Tensor", compare<O::kLessEqual>},
    {"aten::less_equal.Tensor", compare<O::kLessEqual>},
    {"aten::le.Scalar", compare<O::kLessEqual>},
    {"aten::less_equal.Scalar", compare<O::kLessEqual>},
    {"aten::gt.Tensor", compare<O::kGreater>},
    {"aten::greater.Tensor", compare<O::kGreater>},
    {"aten::gt.Scalar", compare<O::kGreater>},
    {"aten::greater.Scalar", compare<O::kGreater>},
    {"aten::ge.Tensor", compare<O::kGreaterEqual>},
    {"aten::greater_equal.Tensor", compare<O::kGreaterEqual>},
    {"aten::ge.Scalar", compare<O::kGreaterEqual>},
    {"aten::greater_equal.Scalar", compare<O::kGreaterEqual>},
    {"aten::logical_and", logical<O::kAnd>},
    {"aten::logical_or", logical<O::kOr>},
    {"aten::logical_xor", logical<O::kXor>},
    {"aten::logical_not", logical_not},
    {"aten::bitwise_and.Tensor", bitwise<O::kBitAnd, O::kAnd>},
    {"aten::bitwise_and.Scalar", bitwise<O::kBitAnd, O::kAnd>},
    {"aten::__and__.Tensor", bitwise<O::kBitAnd, O::kAnd>},
    {"aten::__and__.Scalar", bitwise<O::kBitAnd, O::kAnd>},
    {"aten::bitwise_or.Tensor", bitwise<O::kBitOr, O::kOr>},
    {"aten::bitwise_or.Scalar", bitwise<O::kBitOr, O::kOr>},
    {"aten::__or__.Tensor", bitwise<O::kBitOr, O::kOr>},
    {"aten::__or__.Scalar", bitwise<O::kBitOr, O::kOr>},
    {"aten::bitwise_xor.Tensor", bitwise<O::kBitXor, O::kXor>},
    {"aten::bitwise_xor.Scalar", bitwise<O::kBitXor, O::kXor>},
    {"aten::__xor__.Tensor", bitwise<O::kBitXor, O::kXor>},
    {"aten::__xor__.Scalar", bitwise<O::kBitXor, O::kXor>},
    {"aten::bitwise_not", bitwise_not},
    {"aten::bitwise_left_shift.Tensor", shift<O::kShiftLeft>},
    {"aten::bitwise_left_shift.Tensor_Scalar", shift<O::kShiftLeft>},
    {"aten::__lshift__.Tensor", shift<O::kShiftLeft>},
    {"aten::__lshift__.Scalar", shift<O::kShiftLeft>},
    {"aten::bitwise_right_shift.Tensor", shift<O::kShiftRight>},
    {"aten::bitwise_right_shift.Tensor_Scalar", shift<O::kShiftRight>},
    {"aten::__rshift__.Tensor", shift<O::kShiftRight>},
    {"aten::__rshift__.Scalar", shift<O::kShiftRight>},
    {"aten::isnan", property<Property::kNan>},
    {"aten::isinf", property<Property::kInfinite>},
    {"aten::isposinf", property<Property::kInfinity>},
    {"aten::isneginf", property<Property::kMinusInfinity>},
    {"aten::isfinite", property<Property::kFinite>},
    {"aten::signbit", property<Property::kNegative>},
    {"aten::nan_to_num", nan_to_num},
    {"aten::where.self", where},
    {"aten::where.ScalarSelf", where},
    {"aten::where.ScalarOther", where},
    {"aten::where.Scalar", where},
    {"aten::masked_fill.Scalar", masked_fill},
    {"aten::masked_fill.Tensor", masked_fill},
    {"aten::zeros", fill<-1, 0>},
    {"aten::zeros_like", fill<-1, 0>},
    {"aten::new_zeros", fill<-1, 0>},
    {"aten::ones", fill<-1, 1>},
    {"aten::ones_like", fill<-1, 1>},
    {"aten::new_ones", fill<-1, 1>},
    {"aten::full", fill<1, 0>},
    {"aten::full_like", fill<1, 0>},
    {"aten::new_full", fill<2, 0>},
    {"aten::clone", copy},
    {"aten::zero", fill<-1, 0>},
    {"aten::fill.Scalar", fill<1, 0>},
    {"aten::fill.Tensor", copy_of_other},
    {"aten::copy", copy_of_other},
};

}  // namespace
}  // namespace stator
