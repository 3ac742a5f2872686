// Calls that passes put into a graph.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace stator {

// A call of an operator with one result, just before `place` and from the same line of the model. `inputs` are all that it takes.
inline Value* insert_call(Graph& graph, std::string_view key, std::vector<Value*> inputs, Node* place) {
  Node* node = graph.create(find_operator(key), std::move(inputs));
  node->source = place->source;
  graph.add_output(node, node->op->schema.returns()[0].type());
  graph.insert_before(place, node);
  return node->output();
}

}  // namespace stator
