// Python's functions on numbers, which programs use on sizes: _operator.add, math.trunc, torch.sym_max.
#pragma once

#include "frontend/export/builder.h"

namespace stator::exported {

// The value of `target`(inputs...), a number of `type`. Throws Error(kUnsupported) if there is no such function.
Value* build_scalar_function(Builder& builder, const std::string& target, const std::vector<Value*>& inputs,
                             const c10::TypePtr& type);

}  // namespace stator::exported
