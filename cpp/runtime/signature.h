// What the caller declares of a method's inputs: `x: float32[?, 1, 32], mask: bool[?]`. Checked when inputs are bound.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace stator {

struct TensorSpec {
  std::string name;
  std::optional<at::ScalarType> dtype;        // nullopt: any ("?")
  std::optional<std::vector<int64_t>> shape;  // -1: any size; nullopt: any shape
  std::string str() const;                    // float32[?, 1, 32]
};

// Throws Error(kInvalidArgument) that shows where the text is wrong.
std::vector<TensorSpec> parse_signature(std::string_view text);

// Throws Error(kShapeMismatch or kDtypeMismatch). `argument` counts from 0.
void check_tensor(const TensorSpec& spec, const at::Tensor& tensor, int argument);

}  // namespace stator
