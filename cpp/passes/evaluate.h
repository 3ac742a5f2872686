// Runs one pure node on constants, for folding.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace stator {

// The results; nullopt if an input is no constant, the node raises, or a result is of a kind that no constant has (objects, dicts,
// tensors without storage on the CPU) or too large. The node must be pure.
std::optional<std::vector<c10::IValue>> evaluate(const Node& node);

}  // namespace stator
