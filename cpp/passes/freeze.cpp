#include "passes/freeze.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "analysis/aliases.h"

namespace stator {
namespace {

// Attributes that share memory or may come to hold one another's values: changed together or not at all.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) {
    for (size_t i = 0; i < count; ++i) parent_[i] = i;
  }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

void join_shared_storage(const std::vector<StateSlot>& slots, Groups& groups) {
  std::unordered_map<const void*, size_t> owner;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].value.visit([&](const c10::IValue& value) {
      const void* key = nullptr;
      if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
        key = value.toTensor().storage().unsafeGetStorageImpl();
      } else if (value.isPtrType() && !value.isTensor() && !value.isString()) {
        key = value.internalToPointer();
      }
      if (key) {
        auto [it, added] = owner.try_emplace(key, i);
        if (!added) groups.join(i, it->second);
      }
      return false;  // visit what it contains as well
    });
  }
}

bool holds_object(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ClassType || type->kind() == c10::TypeKind::InterfaceType ||
      type->kind() == c10::TypeKind::AnyType)
    return true;
  auto inner = type->containedTypes();
  return std::any_of(inner.begin(), inner.end(), holds_object);
}

// LibTorch's own operators on packed weights and their kin only read them; no schema says so.
bool leaves_objects_alone(const Operator& op) {
  static constexpr std::array<std::string_view, 4> kReading{"aten::", "prim::", "quantized::", "prepacked::"};
  return std::any_of(kReading.begin(), kReading.end(),
                     [&](std::string_view name) { return op.name.rfind(name, 0) == 0; });
}

std::vector<bool> find_changed(const Program& program) {
  const auto& slots = program.slots;
  Groups groups(slots.size());
  join_shared_storage(slots, groups);

  std::vector<bool> changed(slots.size(), false);
  for (const Method& method : program.methods) {
    if (!method.graph) continue;
    Aliases aliases(*method.graph);
    const auto expose = [&](const Value* value) {
      if (!holds_object(value->type)) return;
      for (LocationId id : aliases.reach(value)) {
        const Location& location = aliases.locations()[id];
        if (location.kind == Location::Kind::kState) changed[location.state_slot] = true;
      }
    };
    for (const Value* result : method.graph->outputs()) expose(result);
    for_each_node(method.graph->root(), [&](const Node* node) {
      if (node->opcode != Opcode::kOperator || leaves_objects_alone(*node->op)) return;
      for (const Value* input : node->inputs) expose(input);
    });
    for (const Location& location : aliases.locations()) {
      if (location.kind == Location::Kind::kState && location.written) changed[location.state_slot] = true;
    }
    for (auto& [slot, value] : aliases.state_stores()) {
      changed[slot] = true;
      for (LocationId id : aliases.reach(value)) {
        // self.a = self.b: whoever writes into `a` from now on writes into `b`.
        const Location& location = aliases.locations()[id];
        if (location.kind == Location::Kind::kState) groups.join(slot, location.state_slot);
      }
    }
  }
  std::vector<bool> group_changed(slots.size(), false);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (changed[i]) group_changed[groups.find(i)] = true;
  }
  for (size_t i = 0; i < slots.size(); ++i) changed[i] = group_changed[groups.find(i)];
  return changed;
}

}  // namespace

bool freeze(Program& program) {
  std::vector<bool> changed = find_changed(program);
  if (std::all_of(changed.begin(), changed.end(), [](bool it) { return it; })) return false;
  std::vector<int64_t> new_index(program.slots.size(), -1);
  std::vector<StateSlot> state;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (!changed[i]) continue;
    new_index[i] = static_cast<int64_t>(state.size());
    state.push_back(program.slots[i]);
  }
  for (Method& method : program.methods) {
    if (!method.graph) continue;
    Graph& graph = *method.graph;
    std::unordered_map<int64_t, Value*> constants;
    for_each_node(graph.root(), [&](Node* node) {
      if (node->opcode != Opcode::kLoadState && node->opcode != Opcode::kStoreState) return;
      if (new_index[node->index] >= 0) {
        node->index = new_index[node->index];
        return;
      }
      const StateSlot& slot = program.slots[node->index];
      auto [it, added] = constants.try_emplace(node->index, nullptr);
      if (added) {
        it->second = graph.constant(slot.value, slot.type);
        it->second->name = slot.name;
      }
      graph.replace_uses(node->output(), it->second);
      graph.erase(node);
    });
  }
  program.slots = std::move(state);
  return true;
}

}  // namespace stator
