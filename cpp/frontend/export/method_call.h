// Calls of methods that classes in C++ have: torch.ops.higher_order.call_torchbind.
#pragma once

#include "frontend/export/builder.h"

namespace stator::exported {

// What the method returns. `inputs` are the object, the method's name, and the method's own arguments.
Value* build_method_call(Builder& builder, const Scope& scope, const std::vector<NamedArgument>& inputs);

}  // namespace stator::exported
