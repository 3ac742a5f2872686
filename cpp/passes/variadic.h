// aten::cat and aten::stack of a list made in place become prim::VarCat and prim::VarStack over the tensors themselves.
//
// Proved: the list still holds what it was made of when it is read, as no node can write it. The list stays if it has other uses.
#pragma once

#include "graph/graph.h"

namespace stator {

bool variadic(Graph& graph);

}  // namespace stator
