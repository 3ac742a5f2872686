// Checks that a graph is what graph.h says it is.
#pragma once

#include "graph/graph.h"

namespace stator {

// Throws Error(kInternal) that names the node and the broken rule. Linear in the size of the graph.
void verify(const Graph& graph);

}  // namespace stator
