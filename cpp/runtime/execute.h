// The execution loops.
#pragma once

#include "runtime/bound_frame.h"
#include "runtime/frame.h"
#include "runtime/module.h"

namespace stator {

// Runs the frame's plan from instruction `from` to the last on what the frame's input slots hold. Results are left in their slots.
// Throws Error with the place of the failing node; the frame is then to be cleared.
// The caller has entered inference mode.
void execute(Frame& frame, State& state, int32_t from = 0);

// The same, and writes down what it does.
void execute(Frame& frame, State& state, Recording& recording);

// Runs a signature plan that has been prepared, and what is left of the dynamic plan if the run leaves it.
void execute(BoundFrame& bound, Frame& frame, State& state);

}  // namespace stator
