// What a plan knows of a tensor: what it looks like, and where it is.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <c10/util/accumulate.h>

#include "ops/tensors.h"

namespace stator {

// dtype, sizes and strides of a plain tensor: what a guard compares.
struct TensorMeta {
  at::ScalarType dtype = at::kFloat;
  at::DimVector sizes;
  at::DimVector strides;

  static TensorMeta of(const at::Tensor& tensor) {
    return {tensor.scalar_type(), at::DimVector(tensor.sizes()), at::DimVector(tensor.strides())};
  }
  bool matches(const at::Tensor& tensor) const {
    return is_plain(tensor) && tensor.scalar_type() == dtype && tensor.sizes() == sizes && tensor.strides() == strides;
  }
  // Of memory that a contiguous tensor of this kind fills.
  int64_t bytes() const { return c10::multiply_integers(sizes) * static_cast<int64_t>(c10::elementSize(dtype)); }
  bool operator==(const TensorMeta&) const = default;
};

// From the cheapest to read to the dearest.
enum class ValuePlace : uint8_t {
  kConstant,  // at `address`, for ever
  kPlanned,   // a bound result: at the start of planned tensor `index`, in the workspace or the arena
  kInput,     // a tensor in slot `index`, whose looks the signature guards: only its address is new in a run
  kSlot,      // a tensor in slot `index`, whose looks are a hypothesis: compared each time it is read
};

struct ValueDescriptor {
  TensorMeta meta{};
  ValuePlace place = ValuePlace::kSlot;
  const void* address = nullptr;
  int32_t index = -1;
};

}  // namespace stator
