// Traced models compute with sizes as tensors without dimensions: NumToTensor(size), floor_divide by a constant, Int of the result. Here the same is
// done with ints, so that plans know what follows from a signature.
//
// Safe because such a tensor is an int64 that nothing writes; a division stays unless it is by a constant other than zero.
#pragma once

#include "graph/graph.h"

namespace stator {

bool size_tensors(Graph& graph);

}  // namespace stator
