// The program of an archive as a method of ours.
#pragma once

#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <vector>

#include "frontend/export/schema.h"
#include "graph/program.h"

namespace stator::exported {

// Parameters, buffers, constants and objects become slots.
Method import_method(const ExportedProgram& program, const std::map<std::string, c10::IValue>& weights,
                     std::vector<StateSlot>& slots);

}  // namespace stator::exported
