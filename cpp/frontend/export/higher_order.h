// Control flow: torch.cond, while_loop, map, scan, and regions that change a mode.
#pragma once

#include "frontend/export/builder.h"

namespace stator::exported {

// The results of torch.ops.higher_order.`name`. Throws Error(kUnsupported) with what the user can do.
std::vector<Value*> build_higher_order(Builder& builder, const Scope& scope, const std::string& name,
                                       const std::vector<NamedArgument>& inputs);

}  // namespace stator::exported
