// Elements of a plan's buffer, seen as a tensor.
#pragma once

#include "plan/tensor_meta.h"

namespace stator {

using BufferId = int32_t;

struct TensorView {
  BufferId buffer = -1;
  int64_t offset = 0;  // bytes, from the start of the buffer to the first element
  TensorMeta meta{};
  bool operator==(const TensorView&) const = default;
};

// Whether they certainly have no element in common.
bool are_apart(const TensorView& a, const TensorView& b);

}  // namespace stator
