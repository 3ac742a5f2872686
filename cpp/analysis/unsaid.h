// What operators do although their schemas do not say so.
#pragma once

#include "graph/graph.h"

namespace stator {

// The result may be an argument, an element of one, or a view of either: a dropout that drops nothing gives its input back.
bool may_return_argument(const Operator& op);

// The schema calls the result a view of argument 0, but it is a copy where no view can show the elements so: reshape and its kin.
bool may_copy(const Operator& op);

// Argument 0 comes to share the memory of argument 1: set_ and its kin.
bool takes_memory(const Operator& op);

// Its schema was inferred from a C++ function and says nothing: it may write, keep and return whatever its arguments reach.
bool is_opaque(const Operator& op);

// It may write its `running_mean` and `running_var`: normalisation, unless constants say that it does not train.
bool writes_statistics(const Node& node);

}  // namespace stator
