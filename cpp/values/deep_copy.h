// Deep copies of values. What shares memory in the originals shares memory in the copies, with the same shapes and strides.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace stator {

std::vector<c10::IValue> deep_copy(const std::vector<c10::IValue>& values);
c10::IValue deep_copy(const c10::IValue& value);

}  // namespace stator
