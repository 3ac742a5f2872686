// The one execution loop.
#pragma once

#include "runtime/frame.h"
#include "runtime/module.h"

namespace stator {

// Runs the frame's plan from the first instruction to the last on what its input slots hold. Results are left in their slots.
// Throws Error with the place of the failing node; the frame is then to be cleared.
// The caller has entered inference mode.
void execute(Frame& frame, State& state);

}  // namespace stator
