// How a tensor differs from what was declared of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "graph/error.h"

namespace stator {

struct TensorMismatch {
  ErrorCode code;   // kDtypeMismatch or kShapeMismatch
  std::string why;  // dimension 0 is 3 instead of 2
};

// nullopt if it does not. `dtype` nullopt: any; `sizes` nullopt: any rank; a size of -1: any.
std::optional<TensorMismatch> tensor_mismatch(const at::Tensor& tensor, std::optional<at::ScalarType> dtype,
                                              std::optional<at::IntArrayRef> sizes);

}  // namespace stator
