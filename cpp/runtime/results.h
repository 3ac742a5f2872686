// Makes the result of a run the caller's: nothing of it may change or be changed by anything else.
#pragma once

#include <ATen/core/ivalue.h>

#include "runtime/arena.h"

namespace stator {

// Takes over what a run returned and stores it in `arena`. A tensor keeps its place if only the result holds its memory (the arena's own,
// or memory an operator allocated); one that shares memory with an input, a constant, state, the workspace or another tensor of the result
// is copied, with its strides. One tensor in several places stays one. Containers are copied.
// Call it when the frame has been cleared, so that what still holds memory is not of the run.
void keep_result(c10::IValue result, const MemoryBlock& workspace, ArenaContents& arena);

}  // namespace stator
