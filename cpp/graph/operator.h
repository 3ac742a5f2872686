// What a node calls: an operator of LibTorch's dispatcher, or one that only TorchScript's registry has (lists, dicts, strings,
// scalars). Operators are interned and immortal, so that a pointer identifies one.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stator {

struct Operator {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; may be empty
  std::string key;       // "aten::add.Tensor", or the name alone without an overload
  c10::FunctionSchema schema;
  std::optional<c10::OperatorHandle> handle;  // set for the dispatcher's operators
  std::function<void(torch::jit::Stack&)>
      boxed;  // always callable: takes the arguments off the stack, pushes the results

  bool in_dispatcher() const { return handle.has_value(); }
};

// NULL if LibTorch has no such operator. Thread-safe.
const Operator* find_operator(std::string_view name, std::string_view overload);

// By key: "aten::add.Tensor".
const Operator* find_operator(std::string_view key);

}  // namespace stator
