// Transposed convolutions of float32 over one or two dimensions as bound kernels.
#pragma once

#include "plan/binding.h"

namespace stator {

// Which argument is what, beside input, weight, bias, strides and padding, which are the first five.
struct TransposedArguments {
  size_t groups, dilation, output_padding;
};

bool bind_transposed_convolution(Binding& binding, TransposedArguments arguments);

}  // namespace stator
