// Pointwise operators as tile expressions.
#include <ATen/ExpandUtils.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

using Node = TileExpression::Node;
using O = TileOpcode;

// One operator on its way to an expression: loads what it is asked for as elements of one dtype, and stores the result as it was observed.
class Pointwise {
 public:
  explicit Pointwise(Binding& binding) : binding_(binding) {}

  // Whether the arguments `first` .. `last` are tensors or numbers that can be computed with. `compute`: the dtype to compute in; the
  // result's unless said.
  bool begin(size_t first, size_t last, std::optional<at::ScalarType> compute = std::nullopt) {
    const TensorMeta* seen = binding_.observed(0);
    if (!seen || !tile_type(seen->dtype)) return false;
    compute_ = compute.value_or(seen->dtype);
    if (!tile_type(compute_)) return false;
    for (size_t i = first; i <= last; ++i) {
      if (const TensorView* view = binding_.tensor(i)) {
        if (!tile_type(view->meta.dtype)) return false;
      } else if (!is_number(i)) {
        return false;
      }
    }
    expression_.emplace(seen->sizes);
    return true;
  }

  at::ScalarType compute() const { return compute_; }
  TileType type() const { return *tile_type(compute_); }
  TileExpression& expression() { return *expression_; }

  // Argument i as an element of `dtype`.
  Node as(size_t i, at::ScalarType dtype) {
    if (const TensorView* view = binding_.tensor(i))
      return expression_->cast(expression_->load(*view), view->meta.dtype, dtype);
    const c10::IValue& value = *binding_.known(i);
    const TileType type = *tile_type(dtype);
    if (type == TileType::kInt) return expression_->number(integer(value), type);
    return expression_->number(real(value), type);
  }
  Node in(size_t i) { return as(i, compute_); }
  Node in(const TensorView& view) { return expression_->cast(expression_->load(view), view.meta.dtype, compute_); }
  Node number(double value) {
    return type() == TileType::kInt ? expression_->number(static_cast<int64_t>(value), type())
                                    : expression_->number(value, type());
  }
  Node op(TileOpcode code, Node a) { return expression_->op(code, a); }
  Node op(TileOpcode code, Node a, Node b) { return expression_->op(code, a, b); }
  Node op(TileOpcode code, Node a, Node b, Node c) { return expression_->op(code, a, b, c); }

  // `made` holds elements of `dtype`, not yet rounded to it.
  bool store(Node made, at::ScalarType dtype) {
    const TensorMeta& seen = *binding_.observed(0);
    // Elements of the result must not overlap, nor lie with gaps that nothing fills.
    const TensorView to = binding_.result(0, seen.dtype, seen.sizes, seen.strides);
    if (dtype != at::kBool) made = expression_->rounded(made, dtype);
    expression_->store(expression_->cast(made, dtype, seen.dtype), to);
    binding_.run(std::move(*expression_));
    return true;
  }
  bool store(Node made) { return store(made, compute_); }

  bool is_number(size_t i) const {
    const c10::IValue* value = binding_.known(i);
    return value && (value->isInt() || value->isDouble() || value->isBool());
  }
  std::optional<double> number_of(size_t i) const {
    return is_number(i) ? std::optional(real(*binding_.known(i))) : std::nullopt;
  }
  static double real(const c10::IValue& value) {
    if (value.isDouble()) return value.toDouble();
    return value.isInt() ? static_cast<double>(value.toInt()) : static_cast<double>(value.toBool());
  }

 private:
  static int64_t integer(const c10::IValue& value) {
    if (value.isDouble()) return static_cast<int64_t>(value.toDouble());
    return value.isInt() ? value.toInt() : static_cast<int64_t>(value.toBool());
  }

  Binding& binding_;
  at::ScalarType compute_ = at::kFloat;
  std::optional<TileExpression> expression_;
};

bool is_real(at::ScalarType dtype) { return c10::isFloatingType(dtype); }

// What two arguments are compared or computed in.
std::optional<at::ScalarType> common_dtype(Binding& binding, size_t a, size_t b) {
  at::native::ResultTypeState state{};
  for (size_t i : {a, b}) {
    if (const TensorView* view = binding.tensor(i)) {
      state = at::native::update_result_type_state(
          at::empty(view->meta.sizes, at::TensorOptions(view->meta.dtype).device(at::kMeta)), state);
    } else if (const c10::IValue* value = binding.known(i); value && value->isScalar()) {
      state = at::native::update_result_type_state(value->toScalar(), state);
    } else {
      return std::nullopt;
    }
  }
  return at::native::result_type(state);
}

// One input, a floating point result.
template <TileOpcode kCode>
bool real_unary(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 0) && is_real(p.compute()) && p.store(p.op(kCode, p.in(0)));
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
  return p.store(is_real(p.compute()) ? p.op(kCode, p.in(0)) : p.in(0));
}

template <TileOpcode kCode>
bool binary(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 1) && p.compute() != at::kBool && p.store(p.op(kCode, p.in(0), p.in(1)));
}

template <TileOpcode kCode>
bool real_binary(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 1) && is_real(p.compute()) && p.store(p.op(kCode, p.in(0), p.in(1)));
}

// a + alpha * b and a - alpha * b; the first argument is `from`.
bool add_scaled(Binding& binding, double sign, size_t from) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || p.compute() == at::kBool) return false;
  const std::optional<double> alpha = binding.node().inputs.size() > 2 ? p.number_of(2) : 1.0;
  if (!alpha || !std::isfinite(*alpha)) return false;
  const Node a = p.in(from), b = p.in(1 - from);
  if (*alpha == 1) return p.store(p.op(sign > 0 ? O::kAdd : O::kSub, a, b));
  if (p.compute() == at::kFloat && std::abs(*alpha) > 3.4e38) return false;
  return p.store(p.op(O::kMulAdd, b, p.number(sign * *alpha), a));
}

bool add(Binding& binding) { return add_scaled(binding, 1, 0); }
bool sub(Binding& binding) { return add_scaled(binding, -1, 0); }
bool rsub(Binding& binding) { return add_scaled(binding, -1, 1); }

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

template <TileOpcode kCode>
bool bitwise_of_bools(Binding& binding) {
  const TensorMeta* seen = binding.observed(0);
  return seen && seen->dtype == at::kBool && logical<kCode>(binding);
}

bool bitwise_not_of_bools(Binding& binding) {
  const TensorMeta* seen = binding.observed(0);
  return seen && seen->dtype == at::kBool && logical_not(binding);
}

bool pow_scalar(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> exponent = p.number_of(1);
  if (!exponent || !p.begin(0, 0) || p.compute() == at::kBool) return false;
  const bool real = is_real(p.compute());
  const Node x = p.in(0);
  if (*exponent == 2) return p.store(p.op(O::kSquare, x));
  if (*exponent == 3) return p.store(p.op(O::kMul, p.op(O::kMul, x, x), x));
  if (!real || *exponent == 0 || *exponent == 1) return false;
  if (*exponent == 0.5) return p.store(p.op(O::kSqrt, x));
  if (*exponent == -0.5) return p.store(p.op(O::kRsqrt, x));
  if (*exponent == -1) return p.store(p.op(O::kReciprocal, x));
  if (*exponent == -2) return p.store(p.op(O::kReciprocal, p.op(O::kSquare, x)));
  return p.store(p.op(O::kPow, x, p.number(*exponent)));
}

// Bounds are numbers, or None for no bound.
bool clamp(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || p.compute() == at::kBool) return false;
  bool bounds[] = {false, false};
  for (size_t bound : {size_t{1}, size_t{2}}) {
    if (bound >= binding.node().inputs.size()) break;
    if (binding.known(bound) && binding.known(bound)->isNone()) continue;
    const std::optional<double> number = p.number_of(bound);
    if (!number || std::isnan(*number)) return false;
    bounds[bound - 1] = true;
  }
  const auto& [least, most] = bounds;
  if (least && most) return p.store(p.op(O::kClamp, p.in(0), p.in(1), p.in(2)));
  if (least) return p.store(p.op(O::kClampMin, p.in(0), p.in(1)));
  return p.store(most ? p.op(O::kClampMax, p.in(0), p.in(2)) : p.in(0));
}

template <TileOpcode kCode>
bool clamp_one(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> number = p.number_of(1);
  if (!number || std::isnan(*number) || !p.begin(0, 0) || p.compute() == at::kBool) return false;
  return p.store(p.op(kCode, p.in(0), p.in(1)));
}

bool relu6(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || p.compute() == at::kBool) return false;
  return p.store(p.op(O::kClamp, p.in(0), p.number(0), p.number(6)));
}

bool gelu(Binding& binding) {
  Pointwise p(binding);
  const c10::IValue* approximate = binding.known(1);
  if (!approximate || !approximate->isString() || !p.begin(0, 0) || !is_real(p.compute())) return false;
  return p.store(p.op(approximate->toStringRef() == "tanh" ? O::kGeluTanh : O::kGelu, p.in(0)));
}

bool leaky_relu(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> slope = p.number_of(1);
  if (!slope || !p.begin(0, 0) || !is_real(p.compute())) return false;
  return p.store(p.op(O::kLeakyRelu, p.in(0), p.number(*slope), p.number(0)));
}

bool elu(Binding& binding) {
  Pointwise p(binding);
  const auto alpha = p.number_of(1), scale = p.number_of(2), input_scale = p.number_of(3);
  if (!alpha || scale != 1.0 || input_scale != 1.0 || !p.begin(0, 0) || !is_real(p.compute())) return false;
  return p.store(p.op(O::kElu, p.in(0), p.number(*alpha), p.number(0)));
}

bool selu(Binding& binding) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  Pointwise p(binding);
  if (!p.begin(0, 0) || !is_real(p.compute())) return false;
  return p.store(p.op(O::kMul, p.number(kScale), p.op(O::kElu, p.in(0), p.number(kAlpha), p.number(0))));
}

bool celu(Binding& binding) {
  Pointwise p(binding);
  const auto alpha = p.number_of(1);
  if (!alpha || *alpha == 0 || !p.begin(0, 0) || !is_real(p.compute())) return false;
  const Node x = p.in(0), inner = p.op(O::kExpm1, p.op(O::kMul, x, p.number(1 / *alpha)));
  return p.store(p.op(O::kWhere, p.op(O::kGreater, x, p.number(0)), x, p.op(O::kMul, p.number(*alpha), inner)));
}

// (self, threshold, value)
bool threshold(Binding& binding) {
  Pointwise p(binding);
  if (!p.number_of(1) || !p.number_of(2) || !p.begin(0, 0) || !is_real(p.compute())) return false;
  const Node x = p.in(0);
  return p.store(p.op(O::kWhere, p.op(O::kLessEqual, x, p.in(1)), p.in(2), x));
}

// min(x, 0) - log(1 + exp(-|x|))
bool log_sigmoid(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || !is_real(p.compute())) return false;
  const Node x = p.in(0), tail = p.op(O::kLog1p, p.op(O::kExp, p.op(O::kNeg, p.op(O::kAbs, x))));
  return p.store(p.op(O::kSub, p.op(O::kMin, x, p.number(0)), tail));
}

bool hardshrink(Binding& binding) {
  Pointwise p(binding);
  const auto bound = p.number_of(1);
  if (!bound || !p.begin(0, 0) || !is_real(p.compute())) return false;
  const Node x = p.in(0), not_below = p.op(O::kGreaterEqual, x, p.number(-*bound));
  const Node within = p.op(O::kAnd, not_below, p.op(O::kLessEqual, x, p.number(*bound)));
  return p.store(p.op(O::kWhere, within, p.number(0), x));
}

// What is within the bound is x * 0, so that NaN stays.
bool softshrink(Binding& binding) {
  Pointwise p(binding);
  const auto bound = p.number_of(1);
  if (!bound || !p.begin(0, 0) || !is_real(p.compute())) return false;
  const Node x = p.in(0), above = p.op(O::kGreater, x, p.number(*bound));
  const Node below = p.op(O::kLess, x, p.number(-*bound));
  const Node within = p.op(O::kMul, x, p.number(0));
  const Node rest = p.op(O::kWhere, below, p.op(O::kAdd, x, p.number(*bound)), within);
  return p.store(p.op(O::kWhere, above, p.op(O::kSub, x, p.number(*bound)), rest));
}

// (self, weight): one for all, or one a channel.
bool prelu(Binding& binding) {
  const TensorView *self = binding.tensor(0), *given = binding.tensor(1);
  Pointwise p(binding);
  if (!self || !given || given->meta.numel() == 0 || given->meta.dim() > 1 || !p.begin(0, 1) || !is_real(p.compute()))
    return false;
  TensorView weight = *given;
  const int64_t count = weight.meta.numel();
  if (count > 1 && (self->meta.dim() < 2 || self->meta.sizes[1] != count)) return false;
  const int64_t stride = weight.meta.dim() == 0 ? 1 : weight.meta.strides[0];
  const auto behind = static_cast<size_t>(std::max<int64_t>(self->meta.dim() - 2, 0));
  weight.meta.sizes.assign(1 + (count > 1 ? behind : 0), 1);
  weight.meta.strides.assign(weight.meta.sizes.size(), 1);
  weight.meta.sizes[0] = count;
  weight.meta.strides[0] = stride;
  if (self->meta.dim() == 0) weight.meta = TensorMeta::contiguous(weight.meta.dtype, {});
  const Node x = p.in(0);
  return p.store(p.op(O::kWhere, p.op(O::kGreater, x, p.number(0)), x, p.op(O::kMul, p.in(weight), x)));
}

// (self, weight), which broadcast
bool prelu_kernel(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 1) || !is_real(p.compute())) return false;
  const Node x = p.in(0);
  return p.store(p.op(O::kWhere, p.op(O::kGreater, x, p.number(0)), x, p.op(O::kMul, p.in(1), x)));
}

// (self, dim): the first half times the sigmoid of the second.
bool glu(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const auto dim = self ? wrapped_dim(binding.known(1), self->meta.dim()) : std::nullopt;
  Pointwise p(binding);
  if (!dim || self->meta.sizes[*dim] % 2 != 0 || !p.begin(0, 0) || !is_real(p.compute())) return false;
  TensorView first = *self;
  first.meta.sizes[*dim] /= 2;
  TensorView second = first;
  second.offset += first.meta.sizes[*dim] * first.meta.strides[*dim] * first.meta.itemsize();
  return p.store(p.op(O::kMul, p.in(first), p.op(O::kSigmoid, p.in(second))));
}

// (self, end, weight)
bool lerp(Binding& binding) {
  Pointwise p(binding);
  const auto weight = p.number_of(2);
  if (!weight || !p.begin(0, 1) || !is_real(p.compute())) return false;
  const Node from = p.in(0), to = p.in(1), way = p.op(O::kSub, to, from);
  if (std::abs(*weight) < 0.5) return p.store(p.op(O::kAdd, from, p.op(O::kMul, p.number(*weight), way)));
  return p.store(p.op(O::kSub, to, p.op(O::kMul, way, p.number(1 - *weight))));
}

bool softplus(Binding& binding) {
  Pointwise p(binding);
  const auto beta = p.number_of(1), threshold = p.number_of(2);
  if (!beta || !threshold || !p.begin(0, 0) || !is_real(p.compute())) return false;
  return p.store(p.op(O::kSoftplus, p.in(0), p.number(*beta), p.number(*threshold)));
}

// self + value * a * b, self + value * a / b
template <TileOpcode kCode>
bool add_product(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> value = p.number_of(3);
  if (!value || !p.begin(0, 2) || !is_real(p.compute())) return false;
  const Node scaled = p.op(O::kMul, p.number(*value), p.in(1));
  return p.store(p.op(O::kAdd, p.in(0), p.op(kCode, scaled, p.in(2))));
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

bool copy(Binding& binding) {
  Pointwise p(binding);
  return p.begin(0, 0) && p.store(p.in(0));
}

struct Entry {
  const char* key;
  Binder binder;
};

constexpr Entry kEntries[] = {
    {"aten::exp", real_unary<O::kExp>},
    {"aten::exp2", real_unary<O::kExp2>},
    {"aten::expm1", real_unary<O::kExpm1>},
    {"aten::log", real_unary<O::kLog>},
    {"aten::log2", real_unary<O::kLog2>},
    {"aten::log10", real_unary<O::kLog10>},
    {"aten::log1p", real_unary<O::kLog1p>},
    {"aten::sqrt", real_unary<O::kSqrt>},
    {"aten::rsqrt", real_unary<O::kRsqrt>},
    {"aten::reciprocal", real_unary<O::kReciprocal>},
    {"aten::sin", real_unary<O::kSin>},
    {"aten::cos", real_unary<O::kCos>},
    {"aten::tan", real_unary<O::kTan>},
    {"aten::asin", real_unary<O::kAsin>},
    {"aten::acos", real_unary<O::kAcos>},
    {"aten::atan", real_unary<O::kAtan>},
    {"aten::sinh", real_unary<O::kSinh>},
    {"aten::cosh", real_unary<O::kCosh>},
    {"aten::tanh", real_unary<O::kTanh>},
    {"aten::sigmoid", real_unary<O::kSigmoid>},
    {"aten::erf", real_unary<O::kErf>},
    {"aten::erfc", real_unary<O::kErfc>},
    {"aten::silu", real_unary<O::kSilu>},
    {"aten::mish", real_unary<O::kMish>},
    {"aten::hardswish", real_unary<O::kHardswish>},
    {"aten::hardsigmoid", real_unary<O::kHardsigmoid>},
    {"aten::frac", real_unary<O::kFrac>},
    {"aten::neg", unary<O::kNeg>},
    {"aten::abs", unary<O::kAbs>},
    {"aten::relu", unary<O::kRelu>},
    {"aten::sign", unary<O::kSign>},
    {"aten::square", unary<O::kSquare>},
    {"aten::floor", rounding<O::kFloor>},
    {"aten::ceil", rounding<O::kCeil>},
    {"aten::round", rounding<O::kRound>},
    {"aten::trunc", rounding<O::kTrunc>},
    {"aten::add.Tensor", add},
    {"aten::add.Scalar", add},
    {"aten::sub.Tensor", sub},
    {"aten::sub.Scalar", sub},
    {"aten::rsub.Scalar", rsub},
    {"aten::rsub.Tensor", rsub},
    {"aten::mul.Tensor", logical_mul},
    {"aten::mul.Scalar", logical_mul},
    {"aten::div.Tensor", real_binary<O::kDiv>},
    {"aten::div.Scalar", real_binary<O::kDiv>},
    {"aten::true_divide.Tensor", real_binary<O::kDiv>},
    {"aten::maximum", binary<O::kMax>},
    {"aten::minimum", binary<O::kMin>},
    {"aten::max.other", binary<O::kMax>},
    {"aten::min.other", binary<O::kMin>},
    {"aten::pow.Tensor_Scalar", pow_scalar},
    {"aten::pow.Tensor_Tensor", real_binary<O::kPow>},
    {"aten::atan2", real_binary<O::kAtan2>},
    {"aten::fmod.Tensor", real_binary<O::kFmod>},
    {"aten::fmod.Scalar", real_binary<O::kFmod>},
    {"aten::remainder.Tensor", real_binary<O::kRemainder>},
    {"aten::remainder.Scalar", real_binary<O::kRemainder>},
    {"aten::eq.Tensor", compare<O::kEqual>},
    {"aten::eq.Scalar", compare<O::kEqual>},
    {"aten::ne.Tensor", compare<O::kNotEqual>},
    {"aten::ne.Scalar", compare<O::kNotEqual>},
    {"aten::lt.Tensor", compare<O::kLess>},
    {"aten::lt.Scalar", compare<O::kLess>},
    {"aten::le.Tensor", compare<O::kLessEqual>},
    {"aten::le.Scalar", compare<O::kLessEqual>},
    {"aten::gt.Tensor", compare<O::kGreater>},
    {"aten::gt.Scalar", compare<O::kGreater>},
    {"aten::ge.Tensor", compare<O::kGreaterEqual>},
    {"aten::ge.Scalar", compare<O::kGreaterEqual>},
    {"aten::logical_and", logical<O::kAnd>},
    {"aten::logical_or", logical<O::kOr>},
    {"aten::logical_xor", logical<O::kXor>},
    {"aten::logical_not", logical_not},
    {"aten::bitwise_and.Tensor", bitwise_of_bools<O::kAnd>},
    {"aten::bitwise_or.Tensor", bitwise_of_bools<O::kOr>},
    {"aten::bitwise_xor.Tensor", bitwise_of_bools<O::kXor>},
    {"aten::__and__.Tensor", bitwise_of_bools<O::kAnd>},
    {"aten::__or__.Tensor", bitwise_of_bools<O::kOr>},
    {"aten::bitwise_not", bitwise_not_of_bools},
    {"aten::clamp", clamp},
    {"aten::clamp_min", clamp_one<O::kClampMin>},
    {"aten::clamp_max", clamp_one<O::kClampMax>},
    {"aten::hardtanh", clamp},
    {"aten::relu6", relu6},
    {"aten::gelu", gelu},
    {"aten::leaky_relu", leaky_relu},
    {"aten::elu", elu},
    {"aten::softplus", softplus},
    {"aten::selu", selu},
    {"aten::celu", celu},
    {"aten::threshold", threshold},
    {"aten::log_sigmoid", log_sigmoid},
    {"aten::hardshrink", hardshrink},
    {"aten::softshrink", softshrink},
    {"aten::prelu", prelu},
    {"aten::_prelu_kernel", prelu_kernel},
    {"aten::glu", glu},
    {"aten::lerp.Scalar", lerp},
    {"aten::addcmul", add_product<O::kMul>},
    {"aten::addcdiv", add_product<O::kDiv>},
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
};

const bool kRegistered = [] {
  for (const Entry& entry : kEntries) BinderRegistration(entry.key, entry.binder);
  return true;
}();

}  // namespace
}  // namespace stator
