// What the caller declares of a method's inputs: `x: float32[?, 1, 32], mask: bool[?], steps = 3`. Checked when inputs are bound.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace stator {

struct InputSpec {
  std::string name;
  std::optional<at::ScalarType> dtype{};        // nullopt: any ("?")
  std::optional<std::vector<int64_t>> shape{};  // -1: any size; nullopt: any shape
  std::optional<c10::IValue> value{};           // no tensor but this number, bool or None
  bool is_fixed() const;                        // dtype and all sizes are known, or the value is
  std::string str() const;                      // float32[?, 1, 32]
};

// Throws Error(kInvalidArgument) that shows where the text is wrong and says what it was given as.
std::vector<InputSpec> parse_signature(std::string_view text, const std::string& given_as);

// Throws Error(kShapeMismatch, kDtypeMismatch or kTypeMismatch). `argument` counts from 0.
void check_input(const InputSpec& spec, const c10::IValue& value, int argument);

}  // namespace stator
