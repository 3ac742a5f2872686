// Constant right factors of matrix products as the panels that kernels want: packed once in a module for all its plans.
#pragma once

#include "kernels/matmul.h"
#include "plan/binding.h"

namespace stator {

// Only columns, depth, b_step and b_column of the specification count: where in `weight` the factor is.
TensorView packed_panels(Binding& binding, const at::Tensor& weight, const MatmulSpec& spec);

}  // namespace stator
