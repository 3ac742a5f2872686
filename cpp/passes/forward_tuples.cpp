#include "passes/forward_tuples.h"

#include "analysis/aliases.h"
#include "analysis/effects.h"

namespace stator {
namespace {

const Node* maker(const Value* value, Opcode opcode) {
  return value->node && value->node->opcode == opcode ? value->node : nullptr;
}

bool forward(Graph& graph, Node* node, size_t output, Value* element) {
  if (node->output(output)->uses.empty()) return false;
  graph.replace_uses(node->output(output), element);
  return true;
}

bool forward_all(Graph& graph, Node* node, const Node* made) {
  if (made->inputs.size() != node->outputs.size()) return false;
  bool changed = false;
  for (size_t i = 0; i < node->outputs.size(); ++i) changed |= forward(graph, node, i, made->input(i));
  return changed;
}

bool forward_one(Graph& graph, Node* node, const Node* made) {
  const c10::IValue* index = constant_of(node->input(1));
  if (!index || !index->isInt()) return false;
  auto count = static_cast<int64_t>(made->inputs.size());
  int64_t i = index->toInt() < 0 ? index->toInt() + count : index->toInt();
  return i >= 0 && i < count && forward(graph, node, 0, made->input(i));
}

}  // namespace

bool forward_tuples(Graph& graph) {
  const Aliases aliases(graph);
  const Immutability immutability(graph, aliases);
  // The list itself has to stay as it was made; what its elements hold may change.
  const auto is_steady = [&](const Value* list) {
    LocationId location = aliases.made_by(list);
    return location < 0 || !immutability.exposed(location);
  };

  bool changed = false;
  for_each_node(graph.root(), [&](Node* node) {
    if (node->opcode == Opcode::kTupleUnpack) {
      if (auto* made = maker(node->input(), Opcode::kTupleConstruct)) changed |= forward_all(graph, node, made);
    } else if (node->opcode == Opcode::kTupleIndex) {
      if (auto* made = maker(node->input(), Opcode::kTupleConstruct)) changed |= forward_one(graph, node, made);
    } else if (node->opcode == Opcode::kListUnpack) {
      auto* made = maker(node->input(), Opcode::kListConstruct);
      if (made && is_steady(node->input())) changed |= forward_all(graph, node, made);
    } else if (node->is_operator("aten::__getitem__") && node->inputs.size() == 2) {
      auto* made = maker(node->input(), Opcode::kListConstruct);
      if (made && is_steady(node->input())) changed |= forward_one(graph, node, made);
    }
  });
  return changed;
}

}  // namespace stator
