// Takes elements of tuples, and of lists that never change, from where they were put in: no container is made to be taken apart.
//
// Proved: a tuple never changes, so its elements are the very values it was made of. For lists the same holds if no node can write the
// list or hand it to something unknown; an unpack that would raise for its length, or an index out of range, stays.
#pragma once

#include "graph/graph.h"

namespace stator {

bool forward_tuples(Graph& graph);

}  // namespace stator
