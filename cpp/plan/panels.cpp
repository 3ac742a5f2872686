#include "plan/panels.h"

#include <ATen/ops/empty.h>

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

}  // namespace

TensorView packed_panels(Binding& binding, const at::Tensor& weight, const MatmulSpec& spec) {
  const int64_t floats = panel_floats(spec.columns, spec.depth, kernels().matmul->panel);
  return binding.packed(weight, form_of(spec), {floats}, [&] {
    at::Tensor panels = at::empty({floats}, at::kFloat);
    void* addresses[] = {const_cast<void*>(weight.const_data_ptr()), panels.mutable_data_ptr()};
    kernels().matmul->pack(&spec, addresses);
    return panels;
  });
}

}  // namespace stator
