// What a node is given, as values of our graph that fit an operator's schema.
#pragma once

#include <ATen/core/function_schema.h>

#include "frontend/export/builder.h"

namespace stator::exported {

// The value of a name. Throws Error(kBadModel) if it stands for nothing.
Value* named(const Scope& scope, const std::string& name);

// `formal` is the schema's argument; NULL where there is none, and the value is what it looks like.
Value* build_argument(Builder& builder, const Scope& scope, const Argument& argument, const c10::Argument* formal);

// The operands of a higher-order operator: a list of values, numbers among them.
std::vector<Value*> build_operands(Builder& builder, const Scope& scope, const Argument& argument);

}  // namespace stator::exported
