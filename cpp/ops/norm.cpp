// Layer normalisation.
//
// layer_norm has no out form in ATen; its kernel is reached through the stub that ATen's own operator calls. A stub's layout depends on
// which CPU capabilities its library was built for, hence x86-64 only, where every LibTorch has the same two.
#if defined(__x86_64__)
#define HAVE_AVX2_CPU_DEFINITION
#define HAVE_AVX512_CPU_DEFINITION

#include <ATen/native/layer_norm.h>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

struct Layers {
  at::Tensor weight, bias;
  int64_t rows = 1, length = 1;
  size_t axis = 0;  // first normalised dimension
};

// An absent weight or bias is an undefined tensor; one that does not fit makes the answer false.
bool take_parameter(const c10::IValue& value, const at::Tensor& input, at::IntArrayRef shape, at::Tensor& parameter) {
  if (value.isNone() || !value.toTensor().defined()) return true;
  parameter = value.toTensor();
  return is_plain(parameter) && parameter.scalar_type() == input.scalar_type() && parameter.sizes() == shape &&
         parameter.is_contiguous();
}

// Contiguous floats and doubles with parameters of the same dtype; mixed precision is LibTorch's.
bool take_layers(const Call& call, Layers& layers) {
  const at::Tensor& input = call.tensor(0);
  const at::DimVector shape = call.in(1).toDimVector();
  if (!is_plain(input) || (input.scalar_type() != at::kFloat && input.scalar_type() != at::kDouble)) return false;
  if (!input.is_contiguous() || input.numel() == 0 || shape.empty() || shape.size() > input.sizes().size())
    return false;
  layers.axis = input.sizes().size() - shape.size();
  if (input.sizes().slice(layers.axis) != at::IntArrayRef(shape)) return false;
  for (int64_t size : input.sizes().slice(0, layers.axis)) layers.rows *= size;
  for (int64_t size : shape) layers.length *= size;
  return take_parameter(call.in(2), input, shape, layers.weight) &&
         take_parameter(call.in(3), input, shape, layers.bias);
}

void layer_norm(const Call& call) {
  Layers layers;
  if (!take_layers(call, layers)) return run_boxed(call);
  const at::Tensor& input = call.tensor(0);
  at::Tensor& out = call.output(0, input.sizes(), {}, input.scalar_type());
  at::native::LayerNormKernel(at::kCPU, input, layers.weight, layers.bias, layers.rows, layers.length,
                              call.in(4).toDouble(), &out,
                              /*mean=*/nullptr, /*rstd=*/nullptr);
}

void native_layer_norm(const Call& call) {
  Layers layers;
  if (!take_layers(call, layers)) return run_boxed(call);
  const at::Tensor& input = call.tensor(0);
  at::DimVector sizes(input.sizes());
  std::fill(sizes.begin() + layers.axis, sizes.end(), 1);
  at::Tensor& out = call.output(0, input.sizes(), {}, input.scalar_type());
  at::Tensor& mean = call.output(1, sizes, {}, input.scalar_type());
  at::Tensor& rstd = call.output(2, sizes, {}, input.scalar_type());
  at::native::LayerNormKernel(at::kCPU, input, layers.weight, layers.bias, layers.rows, layers.length,
                              call.in(4).toDouble(), &out, &mean, &rstd);
}

const Registration kNorms[] = {
    {ImplKind::kOut, "aten::layer_norm", layer_norm},
    {ImplKind::kOut, "aten::native_layer_norm", native_layer_norm},
};

}  // namespace
}  // namespace stator
#endif
