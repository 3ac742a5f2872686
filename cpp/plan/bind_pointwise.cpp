// Pointwise operators on float32 as bound calls.
#include <c10/util/strides.h>

#include <cfloat>
#include <cmath>
#include <string_view>

#include "kernels/dispatch.h"
#include "ops/short_loops.h"
#include "plan/bound_call.h"
#include "plan/broadcast.h"

namespace stator {
namespace {

// ATen spreads more than this over threads (at::internal::GRAIN_SIZE), which these kernels do not.
constexpr int64_t kMostElements = 32768;

struct Pointwise {
  std::string_view key;
  BoundKernel PointwiseKernels::* kernel;
  int inputs;
  bool alpha;
};

constexpr Pointwise kPointwise[] = {
    {"aten::add.Tensor", &PointwiseKernels::add, 2, true},   {"aten::add.Scalar", &PointwiseKernels::add, 2, true},
    {"aten::mul.Tensor", &PointwiseKernels::mul, 2, false},  {"aten::mul.Scalar", &PointwiseKernels::mul, 2, false},
    {"aten::sigmoid", &PointwiseKernels::sigmoid, 1, false},
};

const Pointwise* find(const Node& node) {
  if (node.opcode != Opcode::kOperator) return nullptr;
  for (const Pointwise& entry : kPointwise) {
    if (entry.key == node.op->key) return &entry;
  }
  return nullptr;
}

// By strides too, size-1 dimensions included: then a TensorIterator's result is contiguous whatever broadcasts.
bool is_contiguous_float(const ValueDescriptor* value) {
  return value && value->meta.dtype == at::kFloat && value->meta.strides == c10::contiguous_strides(value->meta.sizes);
}

// Argument i becomes the call's next input: a tensor, or a number of the call's own.
bool take_input(BoundCall& call, const KnownArguments& arguments, size_t i) {
  if (is_contiguous_float(arguments.tensors[i])) {
    call.inputs.push_back(*arguments.tensors[i]);
    return true;
  }
  const c10::IValue* number = arguments.constants[i];
  if (!number || !is_real_number(*number)) return false;
  call.number = std::make_unique<float>(as_float(*number));
  call.inputs.push_back({.place = ValuePlace::kConstant, .address = call.number.get()});
  return true;
}

// ATen refuses an alpha that float32 cannot hold.
bool take_alpha(BoundCall& call, const c10::IValue* alpha) {
  if (!alpha || !is_real_number(*alpha) || !(std::abs(as_float(*alpha)) <= FLT_MAX)) return false;
  call.constants.numbers[0] = as_float(*alpha);
  return true;
}

}  // namespace

bool bindable(const Node& node) { return find(node) != nullptr; }

std::optional<BoundCall> bind_node(const Node& node, const KnownArguments& arguments) {
  const Pointwise* entry = find(node);
  BoundCall call;
  for (int i = 0; i < entry->inputs; ++i) {
    if (!take_input(call, arguments, static_cast<size_t>(i))) return std::nullopt;
  }
  if (entry->alpha && !take_alpha(call, arguments.constants[2])) return std::nullopt;
  const auto loops = broadcast(call.inputs.front().meta.sizes, call.inputs.back().meta.sizes);
  if (!loops || loops->runs * loops->run > kMostElements) return std::nullopt;
  call.kernel = kernels().pointwise->*entry->kernel;
  call.constants.sizes = {loops->runs, loops->run, loops->inner[0], loops->outer[0], loops->inner[1], loops->outer[1]};
  call.output.meta = {at::kFloat, loops->sizes, at::DimVector(c10::contiguous_strides(loops->sizes))};
  return call;
}

}  // namespace stator
