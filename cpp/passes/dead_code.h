// Removes nodes that nobody can tell are gone, and outputs of If and values carried by Loop that nobody reads.
//
// Proved: what stays computes the same. Liveness starts at the graph's results and at nodes with effects (state, exceptions, unknown
// methods, messages, the random generator, loops that may not end), and goes backwards over inputs, enclosing blocks, carried values and
// memory: as soon as something live can reach a location, every node that may write the location is live; so is one that writes what came
// from outside. As in TorchScript, a pure operator may go even if it would have raised.
#pragma once

#include "graph/graph.h"

namespace stator {

bool dead_code(Graph& graph);

}  // namespace stator
