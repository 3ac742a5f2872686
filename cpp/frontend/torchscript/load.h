// Loads TorchScript archives into Programs. The only room, with graph/operator.cpp, that includes torch/csrc/jit.
#pragma once

#include "frontend/archive.h"
#include "graph/program.h"

namespace stator {

// The weights of the result are copies, or with `borrow` point into `bytes` and keep it alive.
// Errors: kBadModel, kUnsupported.
Program load_torchscript(const ArchiveBytes& bytes, bool borrow);

}  // namespace stator
