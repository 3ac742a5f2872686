#include "passes/size_tensors.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "analysis/aliases.h"
#include "passes/insert_call.h"

namespace stator {
namespace {

// What an operator on tensors is on ints; "" if it is none of these.
std::string operator_on_ints(const Node& node) {
  if (node.opcode != Opcode::kOperator) return "";
  for (const char* name : {"add", "sub", "mul"}) {
    if (node.is_operator(std::string("aten::") + name)) return std::string("aten::") + name + ".int";
  }
  return node.is_operator("aten::floor_divide") ? "aten::floordiv.int" : "";
}

class Sizes {
 public:
  explicit Sizes(Graph& graph) : graph_(graph), aliases_(graph) {}

  // The int that a tensor holds, computed before the tensor's own node. NULL if it is not known to be one.
  Value* number_in(Value* tensor) {
    if (auto known = numbers_.find(tensor); known != numbers_.end()) return known->second;
    Value* number = is_written(tensor) ? nullptr : compute(tensor);
    numbers_[tensor] = number;
    return number;
  }

 private:
  bool is_written(const Value* tensor) const {
    const LocationSet& locations = aliases_.points_to(tensor);
    return std::any_of(locations.begin(), locations.end(),
                       [&](LocationId location) { return aliases_.locations()[location].written; });
  }

  Value* compute(Value* value) {
    if (const c10::IValue* constant = constant_of(value)) return constant_number(*constant);
    Node* node = value->node;
    if (!node || node->outputs.size() != 1) return nullptr;
    if (node->is_operator("prim::NumToTensor")) return int_or_null(node->input());
    const std::string name = operator_on_ints(*node);
    if (name.empty() || node->inputs.size() < 2 || !is_plain_call(*node)) return nullptr;
    Value *left = operand(node->input(0)), *right = operand(node->input(1));
    return left && right && (name != "aten::floordiv.int" || is_divisor(right))
               ? insert_call(graph_, name, {left, right}, node)
               : nullptr;
  }

  Value* operand(Value* value) { return value->is_tensor() ? number_in(value) : int_or_null(value); }

  static Value* int_or_null(Value* value) { return value->type->kind() == c10::TypeKind::IntType ? value : nullptr; }

  Value* constant_number(const c10::IValue& constant) {
    if (!constant.isTensor() || !constant.toTensor().defined()) return nullptr;
    const at::Tensor& tensor = constant.toTensor();
    if (tensor.dim() != 0 || tensor.scalar_type() != at::kLong || !tensor.device().is_cpu()) return nullptr;
    return graph_.constant(tensor.item<int64_t>());
  }

  // No `alpha` but 1.
  static bool is_plain_call(const Node& node) {
    if (node.inputs.size() == 2) return true;
    const c10::IValue* alpha = constant_of(node.input(2));
    return node.inputs.size() == 3 && alpha && alpha->isInt() && alpha->toInt() == 1;
  }

  static bool is_divisor(const Value* value) {
    const c10::IValue* constant = constant_of(value);
    return constant && constant->isInt() && constant->toInt() != 0;
  }

  Graph& graph_;
  const Aliases aliases_;
  std::unordered_map<const Value*, Value*> numbers_;
};

}  // namespace

bool size_tensors(Graph& graph) {
  Sizes sizes(graph);
  bool changed = false;
  for_each_node(graph.root(), [&](Node* node) {
    if (!node->is_operator("aten::Int") || node->inputs.size() != 1 || !node->input()->is_tensor()) return;
    if (node->output()->uses.empty() || constant_of(node->input())) return;
    if (Value* number = sizes.number_in(node->input())) {
      graph.replace_uses(node->output(), number);
      changed = true;
    }
  });
  return changed;
}

}  // namespace stator
