// Where in the model's own source a node comes from.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace stator::exported {

// The innermost line of a Python stack trace that is not LibTorch's, or else the innermost.
SourceLocation innermost_line(std::string_view stack_trace);

}  // namespace stator::exported
