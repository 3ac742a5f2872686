// What a plan knows of a value at one point of a run, when the plan is made.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <memory>
#include <vector>

#include "plan/tensor_view.h"

namespace stator {

// Where an IValue can be had while the run goes on.
struct Home {
  enum class Kind : uint8_t { kNone, kSlot, kHolder } kind = Kind::kNone;
  int32_t index = -1;  // kSlot: of an input or a constant; kHolder: of the signature plan's own
};

struct TraceValue {
  enum class Kind : uint8_t {
    kKnown,      // `known`: follows from the signature
    kTensor,     // `view`: in memory that the plan knows
    kContainer,  // `elements`, in a list or tuple of `type` that nothing writes
    kOpaque,     // only its home is known
  } kind = Kind::kOpaque;
  c10::IValue known{};
  TensorView view{};
  c10::TypePtr type{};
  std::vector<std::shared_ptr<const TraceValue>> elements{};
  Home home{};         // kOpaque; kTensor if a tensor of it exists
  bool whole = false;  // kTensor: what the buffer was made for, not another tensor over it
};

using TraceValuePtr = std::shared_ptr<const TraceValue>;

inline TraceValuePtr known_value(c10::IValue value) {
  return std::make_shared<const TraceValue>(TraceValue{.kind = TraceValue::Kind::kKnown, .known = std::move(value)});
}

inline TraceValuePtr tensor_value(TensorView view, Home home = {}) {
  return std::make_shared<const TraceValue>(
      TraceValue{.kind = TraceValue::Kind::kTensor, .view = std::move(view), .home = home});
}

}  // namespace stator
