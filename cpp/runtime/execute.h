// The one execution loop.
#pragma once

#include "runtime/bound_frame.h"
#include "runtime/frame.h"
#include "runtime/module.h"

namespace stator {

// Runs `code` from the first instruction to the last on what the frame's input slots hold. Results are left in their slots.
// `code` is parallel to the frame's plan's: the plan's own, an observation's, or a signature plan's, whose bound frame is then given.
// Throws Error with the place of the failing node; the frame is then to be cleared.
// The caller has entered inference mode.
void execute(Frame& frame, State& state, const std::vector<Instruction>& code, BoundFrame* bound = nullptr);

}  // namespace stator
