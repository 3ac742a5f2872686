// Constant right factors of matrix products as the panels that kernels want: packed once in a module for all its plans.
#pragma once

#include "kernels/matmul.h"
#include "plan/binding.h"

namespace stator {

struct Panels {
  TensorView view;
  BoundKernel product;  // of float32 and what `view` has
};

// As wide as `weight`: of float32, bfloat16 or half. Only columns, depth, b_step and b_column of the specification count: where in `weight` the
// factor is.
Panels packed_panels(Binding& binding, const at::Tensor& weight, const MatmulSpec& spec);

}  // namespace stator
