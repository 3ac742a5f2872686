#include "plan/panels.h"

#include <ATen/ops/empty_strided.h>

#include <string>

#include "kernels/dispatch.h"
#include "plan/packed_weights.h"

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
  const auto pack = [&] {
    const at::Tensor wide = with_floats(weight);
    at::Tensor panels = empty_weights({count});
    void* addresses[] = {const_cast<void*>(wide.const_data_ptr()), panels.mutable_data_ptr()};
    kernels().matmul->pack(&spec, addresses);
    return panels.to(dtype);
  };
  return {binding.packed(weight, form_of(spec), TensorMeta::contiguous(dtype, {count}), pack), product_with(dtype)};
}

}  // namespace stator
