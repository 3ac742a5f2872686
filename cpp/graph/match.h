// Small questions that passes ask about a node.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace stator {

// The input for the operator's argument of this name; NULL if it has none.
inline Value* argument(const Node& node, std::string_view name) {
  auto index = node.op->schema.argumentIndexWithName(std::string(name));
  return index && static_cast<size_t>(*index) < node.inputs.size() ? node.inputs[*index] : nullptr;
}

// The same if it is a constant, else NULL.
inline const c10::IValue* constant_argument(const Node& node, std::string_view name) {
  const Value* value = argument(node, name);
  return value ? constant_of(value) : nullptr;
}

inline bool is_constant_bool(const Value* value, bool wanted) {
  const c10::IValue* constant = value ? constant_of(value) : nullptr;
  return constant && constant->isBool() && constant->toBool() == wanted;
}

}  // namespace stator
