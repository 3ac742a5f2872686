// Computes at load what follows from constants alone, and takes the branch or skips the loop that a constant decides.
//
// Proved: a folded object is seen by every run and every runtime, so it is only made if nothing can write what it reaches and nothing
// keeps it (state, objects, arguments). Never folded: random operators, operators that read something besides their arguments, results
// that exceed their inputs by more than 16 MB, and anything that raises (it shall raise when and only when it is run).
#pragma once

#include "graph/graph.h"

namespace stator {

bool fold_constants(Graph& graph);

}  // namespace stator
