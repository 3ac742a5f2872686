// All passes over a graph, in an order that lets each find what the others leave, until nothing changes.
#pragma once

#include "graph/graph.h"

namespace stator {

// With assertions on, the graph is verified before the first pass and after each.
void optimize(Graph& graph);

}  // namespace stator
