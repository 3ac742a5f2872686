// Activations and bounds as tile expressions.
#include <algorithm>
#include <cmath>

#include "plan/collapse.h"
#include "plan/pointwise.h"

namespace stator {
namespace {

using TileNode = Pointwise::Node;
using O = TileOpcode;

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

// The same with a tensor for each bound, or None. NaN wins, wherever it is.
bool clamp_by_tensors(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin(0, 0) || p.compute() == at::kBool) return false;
  TileNode x = p.in(0);
  for (size_t bound : {size_t{1}, size_t{2}}) {
    if (is_none(binding.known(bound))) continue;
    const TensorView* view = binding.tensor(bound);
    if (!view || !tile_type(view->meta.dtype)) return false;
    x = p.op(bound == 1 ? O::kMax : O::kMin, x, p.in(bound));
  }
  return p.store(x);
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
  if (!approximate || !approximate->isString() || !p.begin_real(0, 0)) return false;
  return p.store(p.op(approximate->toStringRef() == "tanh" ? O::kGeluTanh : O::kGelu, p.in(0)));
}

bool leaky_relu(Binding& binding) {
  Pointwise p(binding);
  const std::optional<double> slope = p.number_of(1);
  if (!slope || !p.begin_real(0, 0)) return false;
  return p.store(p.op(O::kLeakyRelu, p.in(0), p.number(*slope), p.number(0)));
}

// In evaluation: the slope is what is between the two bounds.
bool rrelu(Binding& binding) {
  Pointwise p(binding);
  const auto lower = p.number_of(1), upper = p.number_of(2);
  if (!lower || !upper || known_bool(binding.known(3)) != false || !p.begin_real(0, 0)) return false;
  return p.store(p.op(O::kLeakyRelu, p.in(0), p.number((*lower + *upper) / 2), p.number(0)));
}

bool elu(Binding& binding) {
  Pointwise p(binding);
  const auto alpha = p.number_of(1), scale = p.number_of(2), input_scale = p.number_of(3);
  if (!alpha || scale != 1.0 || input_scale != 1.0 || !p.begin_real(0, 0)) return false;
  return p.store(p.op(O::kElu, p.in(0), p.number(*alpha), p.number(0)));
}

bool selu(Binding& binding) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  Pointwise p(binding);
  if (!p.begin_real(0, 0)) return false;
  return p.store(p.op(O::kMul, p.number(kScale), p.op(O::kElu, p.in(0), p.number(kAlpha), p.number(0))));
}

bool celu(Binding& binding) {
  Pointwise p(binding);
  const auto alpha = p.number_of(1);
  if (!alpha || *alpha == 0 || !p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0), inner = p.op(O::kExpm1, p.op(O::kMul, x, p.number(1 / *alpha)));
  return p.store(p.op(O::kWhere, p.op(O::kGreater, x, p.number(0)), x, p.op(O::kMul, p.number(*alpha), inner)));
}

// (self, threshold, value)
bool threshold(Binding& binding) {
  Pointwise p(binding);
  if (!p.number_of(1) || !p.number_of(2) || !p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0);
  return p.store(p.op(O::kWhere, p.op(O::kLessEqual, x, p.in(1)), p.in(2), x));
}

bool tanhshrink(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0);
  return p.store(p.op(O::kSub, x, p.op(O::kTanh, x)));
}

// min(x, 0) - log(1 + exp(-|x|))
bool log_sigmoid(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0), tail = p.op(O::kLog1p, p.op(O::kExp, p.op(O::kNeg, p.op(O::kAbs, x))));
  return p.store(p.op(O::kSub, p.op(O::kMin, x, p.number(0)), tail));
}

bool hardshrink(Binding& binding) {
  Pointwise p(binding);
  const auto bound = p.number_of(1);
  if (!bound || !p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0), not_below = p.op(O::kGreaterEqual, x, p.number(-*bound));
  const TileNode within = p.op(O::kAnd, not_below, p.op(O::kLessEqual, x, p.number(*bound)));
  return p.store(p.op(O::kWhere, within, p.number(0), x));
}

// What is within the bound is x * 0, so that NaN stays.
bool softshrink(Binding& binding) {
  Pointwise p(binding);
  const auto bound = p.number_of(1);
  if (!bound || !p.begin_real(0, 0)) return false;
  const TileNode x = p.in(0), above = p.op(O::kGreater, x, p.number(*bound));
  const TileNode below = p.op(O::kLess, x, p.number(-*bound));
  const TileNode within = p.op(O::kMul, x, p.number(0));
  const TileNode rest = p.op(O::kWhere, below, p.op(O::kAdd, x, p.number(*bound)), within);
  return p.store(p.op(O::kWhere, above, p.op(O::kSub, x, p.number(*bound)), rest));
}

// (self, weight): one for all, or one a channel.
bool prelu(Binding& binding) {
  const TensorView *self = binding.tensor(0), *given = binding.tensor(1);
  Pointwise p(binding);
  if (!self || !given || given->meta.numel() == 0 || given->meta.dim() > 1 || !p.begin_real(0, 1)) return false;
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
  return p.store(p.op(O::kLeakyRelu, p.in(0), p.in(weight), p.number(0)));
}

// (self, weight), which broadcast
bool prelu_kernel(Binding& binding) {
  Pointwise p(binding);
  if (!p.begin_real(0, 1)) return false;
  return p.store(p.op(O::kLeakyRelu, p.in(0), p.in(1), p.number(0)));
}

// (self, dim): the first half times the sigmoid of the second.
bool glu(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const auto dim = self ? wrapped_dim(binding.known(1), self->meta.dim()) : std::nullopt;
  Pointwise p(binding);
  if (!dim || self->meta.sizes[*dim] % 2 != 0 || !p.begin_real(0, 0)) return false;
  TensorView first = *self;
  first.meta.sizes[*dim] /= 2;
  TensorView second = first;
  second.offset += first.meta.sizes[*dim] * first.meta.strides[*dim] * first.meta.itemsize();
  return p.store(p.op(O::kMul, p.in(first), p.op(O::kSigmoid, p.in(second))));
}

bool softplus(Binding& binding) {
  Pointwise p(binding);
  const auto beta = p.number_of(1), threshold = p.number_of(2);
  if (!beta || !threshold || !p.begin_real(0, 0)) return false;
  return p.store(p.op(O::kSoftplus, p.in(0), p.number(*beta), p.number(*threshold)));
}

const PointwiseRegistration kActivations{
    {"aten::clamp", clamp},
    {"aten::clip", clamp},
    {"aten::clamp.Tensor", clamp_by_tensors},
    {"aten::clip.Tensor", clamp_by_tensors},
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
    {"aten::rrelu", rrelu},
    {"aten::tanhshrink", tanhshrink},
};

}  // namespace
}  // namespace stator
