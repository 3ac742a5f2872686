// models/<name>.json as structs.
#pragma once

#include <string_view>

#include "frontend/export/schema.h"

namespace stator::exported {

// Throws Error(kBadModel) for damaged files and kUnsupported for what this version has no name for.
ExportedProgram read_program(std::string_view json);

}  // namespace stator::exported
