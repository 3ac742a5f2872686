// Names of element types, and tensors in messages: "float32", "float32[20, 32]".
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

namespace stator {

const char* dtype_name(at::ScalarType dtype);
std::optional<at::ScalarType> dtype_from_name(std::string_view name);
std::string describe_tensor(const at::Tensor& tensor);

}  // namespace stator
