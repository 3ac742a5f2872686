#include "passes/fold_constants.h"

#include <algorithm>

#include "analysis/aliases.h"
#include "analysis/effects.h"
#include "graph/match.h"
#include "passes/evaluate.h"

namespace stator {
namespace {

// Values of these types have no subtypes: what the type says is what the value is.
bool is_exact(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
      return true;
    default:
      return false;
  }
}

std::optional<bool> decided_by_type(const Node& node) {
  const c10::TypePtr& type = node.input()->type;
  bool fits =
      std::any_of(node.types.begin(), node.types.end(), [&](const c10::TypePtr& t) { return type->isSubtypeOf(*t); });
  if (fits) return true;
  if (is_exact(type)) return false;
  return std::nullopt;
}

bool same_scalar(const Value* a, const Value* b) {
  const c10::IValue *x = constant_of(a), *y = constant_of(b);
  if (!x || !y) return false;
  if (x->isNone()) return y->isNone();
  if (x->isBool()) return y->isBool() && x->toBool() == y->toBool();
  if (x->isInt()) return y->isInt() && x->toInt() == y->toInt();
  return x->isString() && y->isString() && x->toStringRef() == y->toStringRef();
}

bool never_runs(const Node& loop) {
  const c10::IValue* trips = constant_of(loop.input(0));
  return (trips && trips->isInt() && trips->toInt() <= 0) || is_constant_bool(loop.input(1), false);
}

class ConstantFolder {
 public:
  explicit ConstantFolder(Graph& graph) : graph_(graph), aliases_(graph), immutability_(graph, aliases_) {}

  bool run() {
    fold(graph_.root());
    return changed_;
  }

 private:
  using Position = std::list<Node*>::iterator;

  void fold(Block& block) {
    for (Position it = block.nodes.begin(); it != block.nodes.end();) {
      Node* node = *it;
      Position next = std::next(it);
      if (node->opcode == Opcode::kIf) {
        next = fold_if(node, next);
      } else if (node->opcode == Opcode::kLoop) {
        fold_loop(node);
      } else if (node->opcode == Opcode::kFork) {
        fold_fork(node);
      } else if (node->opcode != Opcode::kConstant && is_pure(*node)) {
        fold_node(node);
      }
      it = next;
    }
  }

  // Where to go on: at the branch's nodes if they have taken the place of the If.
  Position fold_if(Node* node, Position next) {
    const c10::IValue* condition = constant_of(node->input());
    if (!condition || !condition->isBool()) {
      for (Block* block : node->blocks) fold(*block);
      join_equal_results(node);
      return next;
    }
    Block* taken = node->blocks[condition->toBool() ? 0 : 1];
    Block* outer = node->owner;
    Position first = taken->nodes.empty() ? next : taken->nodes.begin();
    for (Node* inner : taken->nodes) inner->owner = outer;
    outer->nodes.splice(node->position, taken->nodes);
    for (size_t i = 0; i < node->outputs.size(); ++i) graph_.replace_uses(node->output(i), taken->results[i]);
    graph_.erase(node);
    changed_ = true;
    return first;
  }

  void join_equal_results(Node* node) {
    for (Value* output : node->outputs) {
      if (output->uses.empty()) continue;
      Value* a = node->blocks[0]->results[output->index];
      Value* b = node->blocks[1]->results[output->index];
      if (a != b && !same_scalar(a, b)) continue;
      if (a != b) hoist(a->node);
      graph_.replace_uses(output, a);
      changed_ = true;
    }
  }

  void fold_loop(Node* node) {
    Block* body = node->blocks[0];
    if (never_runs(*node)) {
      for (size_t i = 0; i < node->outputs.size(); ++i) graph_.replace_uses(node->output(i), node->input(i + 2));
      graph_.erase(node);
      changed_ = true;
      return;
    }
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      Value* start = node->input(i + 2);
      Value* param = body->params[i + 1];
      Value* result = body->results[i + 1];
      if (result != param && result != start) continue;
      if (param->uses.empty() && node->output(i)->uses.empty()) continue;
      graph_.replace_uses(param, start);
      graph_.replace_uses(node->output(i), start);
      changed_ = true;
    }
    fold(*body);
  }

  void fold_fork(Node* node) {
    Block* body = node->blocks[0];
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      if (!constant_of(node->input(i)) || body->params[i]->uses.empty()) continue;
      graph_.replace_uses(body->params[i], node->input(i));
      changed_ = true;
    }
    fold(*body);
  }

  void fold_node(Node* node) {
    const auto constant = [](const Value* input) { return constant_of(input) != nullptr; };
    const auto holds = [this](const Value* value) { return immutability_.holds(value); };
    if (node->opcode == Opcode::kIsInstance) {
      if (auto decided = decided_by_type(*node)) return become(node, {*decided});
    }
    if (!std::all_of(node->inputs.begin(), node->inputs.end(), constant)) return;
    if (!std::all_of(node->inputs.begin(), node->inputs.end(), holds) ||
        !std::all_of(node->outputs.begin(), node->outputs.end(), holds))
      return;
    if (auto results = evaluate(*node)) become(node, std::move(*results));
  }

  // The values stay the same objects, so that what the analyses know of them stays true.
  void become(Node* node, std::vector<c10::IValue> results) {
    changed_ = true;
    if (results.size() == 1) {
      graph_.remove_inputs(node);
      node->opcode = Opcode::kConstant;
      node->op = nullptr;
      node->types.clear();
      node->constant = std::move(results[0]);
      hoist(node);
      return;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      Node* constant = graph_.create(Opcode::kConstant);
      Value* value = node->output(i);
      constant->constant = std::move(results[i]);
      constant->source = node->source;
      constant->outputs.push_back(value);
      value->node = constant;
      value->index = 0;
      graph_.insert_before(node, constant);
      hoist(constant);
    }
    node->outputs.clear();
    graph_.erase(node);
  }

  // Out of blocks: before the outermost If or Loop around it.
  void hoist(Node* constant) {
    Node* outermost = nullptr;
    for (Node* owner = constant->owner->owner; owner; owner = owner->owner->owner) outermost = owner;
    if (!outermost) return;
    Block& root = graph_.root();
    root.nodes.splice(outermost->position, constant->owner->nodes, constant->position);
    constant->owner = &root;
  }

  Graph& graph_;
  Aliases aliases_;
  Immutability immutability_;
  bool changed_ = false;
};

}  // namespace

bool fold_constants(Graph& graph) { return ConstantFolder(graph).run(); }

}  // namespace stator
