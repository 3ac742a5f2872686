// Fits a caller's value to the type that a method declares: an int where a float is expected, a list of numbers as a typed list, a tuple
// with or without field names. Containers are copied, tensors are not.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>

namespace stator {

// Throws Error(kTypeMismatch) that says what was expected and what came. `where` is as in `input "x" (argument 1)`.
c10::IValue conform(const c10::IValue& value, const c10::TypePtr& type, const std::string& where);

// input "x" (argument 1); `index` counts from 0.
std::string input_place(const std::string& name, size_t index);

// As messages name it: "int", "str", "float32[2, 3]", "list".
std::string describe_kind(const c10::IValue& value);

}  // namespace stator
