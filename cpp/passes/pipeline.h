// All passes over a graph, in an order that lets each find what the others leave, until nothing changes.
#pragma once

#include "graph/program.h"

namespace stator {

// With assertions on, the graph is verified before the first pass and after each.
void optimize(Graph& graph);

// Freezes the program and optimizes its graphs, by turns: a branch that freezing decided may have held the only writes to an attribute, as
// those of batch_norm's statistics in training.
void optimize(Program& program);

}  // namespace stator
