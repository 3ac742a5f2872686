// Arguments of nodes, and what tensors are like, out of JSON.
#pragma once

#include "frontend/export/schema.h"
#include "frontend/json.h"

namespace stator::exported {

using json::Json;

// `depth` counts the graphs around.
Argument read_argument(const Json& json, int depth);
TensorMeta read_tensor_meta(const Json& json);
// A number, or what sympy calls it.
SizeExpression read_size(const Json& json);
ExportedGraph read_graph(const Json& json, int depth = 0);

}  // namespace stator::exported
