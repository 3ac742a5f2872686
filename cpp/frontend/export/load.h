// Loads archives of torch.export.save into Programs.
#pragma once

#include "frontend/archive.h"
#include "graph/program.h"

namespace stator {

// The weights of the result are copies, or with `borrow` point into `bytes` and keep it alive.
// Errors: kBadModel, kUnsupported.
Program load_export(const ArchiveBytes& bytes, bool borrow);

}  // namespace stator
