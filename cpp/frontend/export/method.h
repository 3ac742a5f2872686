// The program of an archive as a method of ours.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "frontend/export/schema.h"
#include "graph/program.h"

namespace stator::exported {

// Parameters, buffers and constants become slots.
Method import_method(const ExportedProgram& program, const std::map<std::string, at::Tensor>& weights,
                     std::vector<StateSlot>& slots);

}  // namespace stator::exported
