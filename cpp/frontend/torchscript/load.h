// Loads TorchScript archives into Programs. The only room, with graph/operator.cpp, that includes torch/csrc/jit.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "graph/program.h"

namespace stator {

// Memory that holds an archive. Weights may point into it; they keep it alive.
struct ArchiveBytes {
  std::shared_ptr<const void> data;
  size_t size = 0;
};

// Errors: kNotFound, kIo, kBadModel, kUnsupported.
// The weights of the result are copies, or with `map` pages of the file mapped privately.
Program load_torchscript_file(const std::string& path, bool map);

// The weights of the result are copies, or with `borrow` point into `bytes` and keep it alive.
Program load_torchscript_bytes(const ArchiveBytes& bytes, bool borrow);

}  // namespace stator
