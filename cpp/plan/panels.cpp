#include "plan/panels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <string>

#include "kernels/dispatch.h"

namespace stator {
namespace {

// The form's name has all that the panels depend on, beside the weight.
std::string form_of(const MatmulSpec& spec) {
  std::string form = "panels of " + std::to_string(kernels().matmul->panel);
  for (int64_t number : {spec.depth, spec.columns, spec.b_step, spec.b_column}) form += " " + std::to_string(number);
  return form;
}

// With the same strides.
at::Tensor with_floats(const at::Tensor& weight) {
  if (weight.scalar_type() == at::kFloat) return weight;
  return at::empty_strided(weight.sizes(), weight.strides(), at::TensorOptions(at::kFloat)).copy_(weight);
}

BoundKernel product_with(at::ScalarType dtype) {
  const MatmulKernels& table = *kernels().matmul;
  return dtype == at::kBFloat16 ? table.packed_bfloat16 : dtype == at::kHalf ? table.packed_half : table.packed;
}

}  // namespace

Panels packed_panels(Binding& binding, const at::Tensor& weight, const MatmulSpec& spec) {
  const int64_t count = panel_floats(spec.columns, spec.depth, kernels().matmul->panel);
  const at::ScalarType dtype = weight.scalar_type();
  const auto pack = [&](at::Tensor& out) {
    const at::Tensor wide = with_floats(weight), panels = dtype == at::kFloat ? out : at::empty({count}, at::kFloat);
    void* addresses[] = {const_cast<void*>(wide.const_data_ptr()), panels.mutable_data_ptr()};
    kernels().matmul->pack(&spec, addresses);
    if (dtype != at::kFloat) out.copy_(panels);
  };
  return {binding.packed(weight, form_of(spec), TensorMeta::contiguous(dtype, {count}), pack), product_with(dtype)};
}

}  // namespace stator
