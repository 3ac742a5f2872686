// Loads model files, whatever wrote them: what a file is follows from what it holds, never from its name.
#pragma once

#include <optional>
#include <string>

#include "frontend/archive.h"
#include "graph/program.h"

namespace stator {

// Errors: kNotFound, kIo, kBadModel, kUnsupported.
// The weights of the result are copies, or with `map` pages of the file mapped privately; nullopt: those of planned files are.
Program load_model_file(const std::string& path, std::optional<bool> map);

// The weights of the result are copies, or with `borrow` point into `bytes` and keep it alive.
Program load_model_bytes(const ArchiveBytes& bytes, bool borrow);

}  // namespace stator
