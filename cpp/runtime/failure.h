// What a failed instruction says: operator, node, the model's source line, the arguments with their names, what came.
#pragma once

#include <string>

#include "graph/error.h"
#include "runtime/frame.h"

namespace stator {

ErrorPlace place_of(const Frame& frame, const Instruction& instruction);

// An operator refused: LibTorch's message, and what each argument was.
[[noreturn]] void fail(const Frame& frame, const Instruction& instruction, ErrorCode code, std::string message);

// The model raised: its own message, and the type of its exception.
[[noreturn]] void raise(const Frame& frame, const Instruction& instruction);

}  // namespace stator
