#include "analysis/effects.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/unsaid.h"
#include "graph/match.h"

namespace stator {
namespace {

// As torch/csrc/jit/ir/ir.cpp has it in Node::hasSideEffects(), and what has come since.
constexpr std::array<std::string_view, 24> kActing{
    "aten::_assert_async",
    "aten::_assert_scalar",
    "aten::_assert_tensor_metadata",
    "aten::_backward",
    "aten::_functional_assert_async",
    "aten::_functional_assert_scalar",
    "aten::_print",
    "aten::backward",
    "aten::manual_seed",
    "aten::save",
    "aten::seed",
    "aten::set_grad_enabled",
    "aten::wait",
    "aten::warn",
    "prim::AddStatValue",
    "prim::CallFunction",
    "prim::Enter",
    "prim::Exit",
    "prim::Print",
    "prim::RaiseException",
    "prim::TimePoint",
    "prim::awaitable_wait",
    "prim::fork",
    "prim::is_none_or_raise",
};

constexpr std::array<std::string_view, 10> kReading{
    "aten::initial_seed",
    "aten::is_autocast_cpu_enabled",
    "aten::is_autocast_enabled",
    "aten::is_grad_enabled",
    "aten::requires_grad",
    "prim::TimePoint",
    "prim::id",
    "prim::is_inference",
    "prim::is_meta",
    "prim::requires_grad",
};

template <size_t N>
bool among(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool in_namespace(const Operator& op, std::string_view prefix) { return op.name.rfind(prefix, 0) == 0; }

bool has_tag(const Operator& op, at::Tag tag) { return op.handle && op.handle->hasTag(tag); }

bool writes(const c10::AliasInfo& info) {
  return info.isWrite() || std::any_of(info.containedTypes().begin(), info.containedTypes().end(), writes);
}

bool writes_argument(const Operator& op) {
  const auto& arguments = op.schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const c10::Argument& a) { return a.alias_info() && writes(*a.alias_info()); });
}

bool is_off(const Node& node, std::string_view flag) { return is_constant_bool(argument(node, flag), false); }

// Handles to things that live on beside the graph: objects, threads, generators.
bool is_handle(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::FunctionType:
    case c10::TypeKind::FutureType:
    case c10::TypeKind::AwaitType:
    case c10::TypeKind::RRefType:
    case c10::TypeKind::CapsuleType:
    case c10::TypeKind::PyObjectType:
    case c10::TypeKind::StreamObjType:
    case c10::TypeKind::StorageType:
      return true;
    default: {
      auto inner = type->containedTypes();
      return std::any_of(inner.begin(), inner.end(), is_handle);
    }
  }
}

bool touches_handles(const Operator& op) {
  const auto any = [](const std::vector<c10::Argument>& list) {
    return std::any_of(list.begin(), list.end(), [](const c10::Argument& a) { return is_handle(a.type()); });
  };
  return any(op.schema.arguments()) || any(op.schema.returns());
}

void append(LocationSet& into, const LocationSet& from) { into.insert(into.end(), from.begin(), from.end()); }

}  // namespace

bool is_random(const Node& node) {
  if (node.opcode != Opcode::kOperator || !has_tag(*node.op, at::Tag::nondeterministic_seeded)) return false;
  if (is_off(node, "train") || is_off(node, "training")) return false;
  const c10::IValue* probability = constant_argument(node, "dropout_p");
  return !(probability && probability->isDouble() && probability->toDouble() == 0);
}

bool has_side_effects(const Node& node) {
  switch (node.opcode) {
    case Opcode::kStoreState:
    case Opcode::kRaise:
    case Opcode::kCallMethod:
    case Opcode::kWait:  // it may raise what its task did
      return true;
    case Opcode::kOperator:
      break;
    default:
      return false;
  }
  const Operator& op = *node.op;
  if (among(kActing, op.name) || is_random(node) || writes_statistics(node) || is_opaque(op)) return true;
  if (in_namespace(op, "profiler::") || in_namespace(op, "c10d::") || in_namespace(op, "_c10d") ||
      in_namespace(op, "cuda::"))
    return true;
  if (touches_handles(op)) return true;
  return op.schema.returns().empty() && !op.schema.is_varret() && !writes_argument(op);
}

bool reads_environment(const Node& node) {
  return node.opcode == Opcode::kOperator &&
         (among(kReading, node.op->name) || is_random(node) || has_tag(*node.op, at::Tag::nondeterministic_bitwise));
}

bool is_pure(const Node& node) {
  switch (node.opcode) {
    case Opcode::kOperator:
      return !has_side_effects(node) && !reads_environment(node) && !writes_argument(*node.op);
    case Opcode::kConstant:
    case Opcode::kListConstruct:
    case Opcode::kTupleConstruct:
    case Opcode::kDictConstruct:
    case Opcode::kListUnpack:
    case Opcode::kTupleUnpack:
    case Opcode::kTupleIndex:
    case Opcode::kIsInstance:
    case Opcode::kVarCat:
    case Opcode::kVarStack:
      return true;
    default:
      return false;
  }
}

LocationSet written_locations(const Node& node, const Aliases& aliases) {
  LocationSet out;
  if (node.opcode == Opcode::kSetAttr) return aliases.points_to(node.input());
  if (node.opcode != Opcode::kOperator) return out;
  const auto& arguments = node.op->schema.arguments();
  for (size_t i = 0; i < node.inputs.size() && i < arguments.size(); ++i) {
    const c10::AliasInfo* info = arguments[i].alias_info();
    if (!info || !writes(*info)) continue;
    const auto& contained = info->containedTypes();
    bool elements = std::any_of(contained.begin(), contained.end(), writes);
    append(out, elements ? aliases.reach(node.input(i)) : aliases.points_to(node.input(i)));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Immutability::Immutability(const Graph& graph, const Aliases& aliases)
    : aliases_(aliases), known_values_(graph.value_count()), exposed_(aliases.locations().size()) {
  for (size_t i = 0; i < exposed_.size(); ++i) exposed_[i] = aliases.locations()[i].written;
  for (const Value* input : graph.inputs()) expose(aliases.reach(input));
  for_each_node(graph.root(), [&](const Node* node) {
    switch (node->opcode) {
      case Opcode::kStoreState:
      case Opcode::kCallMethod:
        for (const Value* input : node->inputs) expose(aliases.reach(input));
        return;
      case Opcode::kSetAttr:
        return expose(aliases.reach(node->input(1)));
      case Opcode::kLoadState:
        return expose(aliases.reach(node->output()));
      case Opcode::kOperator: {
        expose(written_locations(*node, aliases));
        if (writes_statistics(*node) || touches_handles(*node->op) || is_opaque(*node->op)) {
          for (const Value* input : node->inputs) expose(aliases.reach(input));
        }
        bool by_identity = node->op->name == "aten::__is__" || node->op->name == "aten::__isnot__";
        if (by_identity && node->input(0)->type->kind() != c10::TypeKind::NoneType &&
            node->input(1)->type->kind() != c10::TypeKind::NoneType) {
          for (const Value* input : node->inputs) expose(aliases.points_to(input));
        }
        return;
      }
      default:
        return;
    }
  });
}

void Immutability::expose(const LocationSet& locations) {
  for (LocationId location : locations) exposed_[location] = true;
}

bool Immutability::holds(const Value* value) const {
  if (value->id >= known_values_) return false;
  const LocationSet reached = aliases_.reach(value);
  return std::none_of(reached.begin(), reached.end(), [&](LocationId location) { return exposed_[location]; });
}

}  // namespace stator
