#include "plan/known_sizes.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <unordered_map>

namespace stator {
namespace {

at::Tensor without_elements(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

class Learner {
 public:
  Learner(const Graph& graph, const Aliases& aliases) : graph_(graph), aliases_(aliases) {}

  void assume(const Value* value, const at::Tensor& tensor) {
    if (tensor.defined() && !changes(value)) known_.emplace(value, tensor);
  }

  void run() {
    c10::InferenceMode inference;
    for_each_node(graph_.root(), [this](const Node* node) {
      if (node->opcode == Opcode::kOperator && node->op->in_dispatcher() && !node->op->schema.is_mutable()) call(*node);
    });
  }

  // The bytes that the operator asks for; -1 if unknown.
  int64_t bytes(const Value* value) const {
    auto found = made_.find(value);
    return found == made_.end() ? -1 : found->second;
  }

 private:
  // Its shape may be another when it is read, too.
  bool changes(const Value* value) const {
    const LocationSet& places = aliases_.points_to(value);
    return std::any_of(places.begin(), places.end(),
                       [this](LocationId id) { return aliases_.locations()[id].written; });
  }

  bool push(const Value* value, std::vector<c10::IValue>& stack) const {
    if (auto found = known_.find(value); found != known_.end()) {
      stack.emplace_back(found->second);
      return true;
    }
    const c10::IValue* constant = constant_of(value);
    if (!constant) return false;
    if (!constant->isTensor()) {
      stack.push_back(*constant);
      return !constant->isTensorList() && !constant->isObject();
    }
    const at::Tensor& tensor = constant->toTensor();
    if (!tensor.defined() || tensor.layout() != at::kStrided || changes(value)) return false;
    stack.emplace_back(without_elements(tensor));
    return true;
  }

  void call(const Node& node) {
    std::vector<c10::IValue> stack;
    bool on_meta = false;
    const auto& arguments = node.op->schema.arguments();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!push(node.input(i), stack)) return;
      if (i < arguments.size() && arguments[i].name() == "device") stack.back() = c10::Device(at::kMeta);
      on_meta |= stack.back().isDevice() || stack.back().isTensor();
    }
    if (!on_meta) return;
    const std::vector<c10::IValue> given = stack;
    try {
      node.op->handle->callBoxed(stack);
    } catch (const std::exception&) {
      return;  // it depends on elements, or is not for this device
    }
    for (size_t i = 0; i < node.outputs.size() && i < stack.size(); ++i) {
      if (!stack[i].isTensor() || !stack[i].toTensor().is_meta()) continue;
      const at::Tensor& tensor = stack[i].toTensor();
      const bool is_view = std::any_of(given.begin(), given.end(), [&](const c10::IValue& value) {
        return value.isTensor() && tensor.is_alias_of(value.toTensor());
      });
      learn(node.output(i), tensor, is_view);
    }
  }

  void learn(const Value* value, const at::Tensor& tensor, bool is_view) {
    if (!is_view) made_.emplace(value, static_cast<int64_t>(tensor.storage().nbytes()));
    if (!changes(value)) known_.emplace(value, tensor);
  }

  const Graph& graph_;
  const Aliases& aliases_;
  std::unordered_map<const Value*, at::Tensor> known_;
  std::unordered_map<const Value*, int64_t> made_;
};

}  // namespace

void learn_sizes(const Plan& plan, const Aliases& aliases, const std::vector<at::Tensor>& inputs) {
  Learner learner(*plan.graph, aliases);
  for (size_t i = 0; i < std::min(inputs.size(), plan.graph->inputs().size()); ++i)
    learner.assume(plan.graph->inputs()[i], inputs[i]);
  learner.run();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const int64_t bytes = learner.bytes(plan.tensors[i].value);
    if (bytes <= 0) continue;
    PlannedBuffer buffer;
    buffer.observed = &plan.observed[i];
    buffer.version = &plan.observed_version;
    observe_size(buffer, bytes);
  }
}

}  // namespace stator
