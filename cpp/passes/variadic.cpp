#include "passes/variadic.h"

#include <algorithm>
#include <optional>

#include "analysis/aliases.h"
#include "analysis/effects.h"

namespace stator {
namespace {

std::optional<Opcode> variadic_form(const Node& node) {
  if (node.opcode != Opcode::kOperator) return std::nullopt;
  const std::string& key = node.op->key;
  if (key == "aten::cat" || key == "aten::concat" || key == "aten::concatenate") return Opcode::kVarCat;
  if (key == "aten::stack") return Opcode::kVarStack;
  return std::nullopt;
}

}  // namespace

bool variadic(Graph& graph) {
  const Aliases aliases(graph);
  const Immutability immutability(graph, aliases);
  const auto is_steady_list = [&](const Value* list) {
    if (!list->node || list->node->opcode != Opcode::kListConstruct || list->node->inputs.empty()) return false;
    const auto& elements = list->node->inputs;
    return !immutability.exposed(aliases.made_by(list)) &&
           std::all_of(elements.begin(), elements.end(), [](const Value* element) { return element->is_tensor(); });
  };

  bool changed = false;
  for_each_node(graph.root(), [&](Node* node) {
    auto form = variadic_form(*node);
    if (!form || !is_steady_list(node->input(0))) return;
    std::vector<Value*> inputs = node->input(0)->node->inputs;
    inputs.push_back(node->input(1));
    graph.remove_inputs(node);
    node->opcode = *form;
    node->op = nullptr;
    for (Value* input : inputs) graph.add_input(node, input);
    changed = true;
  });
  return changed;
}

}  // namespace stator
