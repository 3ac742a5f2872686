// Freezing: attributes that no method of the module can change become constants; what is left is the module's state.
//
// An attribute stays state if any method stores into it, writes its memory in place or through a view, puts something into a container
// that it holds, or may do so to memory that it shares with another attribute. An object stays state also if it may leave the model or
// goes to an operator of somebody else's.
#pragma once

#include "graph/program.h"

namespace stator {

// True if an attribute became a constant. Afterwards `program.slots` is the state, and LoadState and StoreState count in it.
bool freeze(Program& program);

}  // namespace stator
