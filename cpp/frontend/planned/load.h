// Reads Stator's planned files (save.h).
#pragma once

#include <span>
#include <string>

#include "frontend/archive.h"
#include "graph/program.h"

namespace stator {

// The program needs no passes. Its plans are as they lie in the file: whether they fit is for those to say who use them.
// Throws Error(kBadModel), or Error(kUnsupported) for another format.
Program load_planned(const ArchiveBytes& bytes, bool borrow);

}  // namespace stator
