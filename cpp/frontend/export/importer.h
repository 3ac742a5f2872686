// The program's graphs as nodes of ours, in order.
#pragma once

#include "frontend/export/builder.h"

namespace stator::exported {

// Puts the nodes of `graph` where `builder` stands, and returns what its outputs are. `scope` has its inputs.
std::vector<Value*> import_nodes(Builder& builder, const ExportedGraph& graph, Scope& scope);

// The same with `operands` as inputs, in order, and names of its own.
std::vector<Value*> inline_graph(Builder& builder, const ExportedGraph& graph, const std::vector<Value*>& operands);

}  // namespace stator::exported
