// Containers around inputs and results.
#pragma once

#include <span>

#include "frontend/export/builder.h"
#include "graph/input_contract.h"

namespace stator::exported {

// The type of a value of this form whose leaves have these types, which it takes from the front of `leaves`.
c10::TypePtr type_of(const TreeSpec& spec, std::span<const c10::TypePtr>& leaves);

// The leaves of a value of this form, in order. Their types are at the front of `leaf_types`, and are taken from there.
std::vector<Value*> take_apart(Builder& builder, const TreeSpec& spec, Value* value,
                               std::span<const c10::TypePtr>& leaf_types);

// A value of this form with the leaves at the front of `leaves`, which it takes from there.
Value* put_together(Builder& builder, const TreeSpec& spec, std::span<Value* const>& leaves);

// Adds what the containers hold to the contract, and for each leaf the way to it.
void describe_containers(const TreeSpec& spec, size_t parameter, const std::vector<c10::IValue>& path,
                         InputContract& contract, std::vector<std::vector<c10::IValue>>& ways);

}  // namespace stator::exported
