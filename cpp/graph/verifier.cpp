#include "graph/verifier.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "graph/error.h"
#include "graph/printer.h"

namespace stator {
namespace {

std::string reference(const Value* value) {
  return "%" + (value->name.empty() ? std::to_string(value->id) : value->name);
}

// Whether some value can have both types. More lenient than subtyping: front ends drop casts that only refine.
bool have_common_values(const c10::TypePtr& a, const c10::TypePtr& b) {
  using Kind = c10::TypeKind;
  if (a->isSubtypeOf(*b) || b->isSubtypeOf(*a)) return true;
  if (a->kind() == Kind::AnyType || b->kind() == Kind::AnyType || a->kind() == Kind::VarType ||
      b->kind() == Kind::VarType)
    return true;
  if (a->kind() == Kind::UnionType || b->kind() == Kind::UnionType || a->kind() == Kind::OptionalType ||
      b->kind() == Kind::OptionalType) {
    const auto members = [](const c10::TypePtr& t) {
      return t->kind() == Kind::UnionType || t->kind() == Kind::OptionalType ? t->containedTypes().vec()
                                                                             : std::vector<c10::TypePtr>{t};
    };
    const auto left = members(a), right = members(b);
    return std::any_of(left.begin(), left.end(), [&](const c10::TypePtr& x) {
      return std::any_of(right.begin(), right.end(), [&](const c10::TypePtr& y) { return have_common_values(x, y); });
    });
  }
  const auto is_object = [](Kind kind) { return kind == Kind::ClassType || kind == Kind::InterfaceType; };
  if (is_object(a->kind()) && is_object(b->kind())) return true;
  if (a->kind() != b->kind()) return false;
  auto left = a->containedTypes(), right = b->containedTypes();
  return !left.empty() && left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(), have_common_values);
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), visible_(graph.value_count()), uses_(graph.value_count()) {}

  void run() {
    require(graph_.root().owner == nullptr, "the root block has no owner");
    block(graph_.root());
    node_ = nullptr;
    check_uses();
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    std::string message = "broken graph: ";
    if (node_) {
      message += node_->display_name();
      if (!node_->outputs.empty()) message += " that makes " + reference(node_->outputs[0]);
      message += ": ";
    }
    ErrorPlace place;
    if (node_) {
      place.op = node_->display_name();
      place.source = node_->source.str();
    }
    throw Error(ErrorCode::kInternal, message + rule, place);
  }

  void require(bool holds, const char* rule) const {
    if (!holds) fail(rule);
  }

  void require_types(const Value* from, const Value* to, const char* what) const {
    if (have_common_values(from->type, to->type)) return;
    fail(std::string(what) + " " + reference(from) + " is " + print(*from->type) + ", but " + reference(to) + " is " +
         print(*to->type));
  }

  void define(const Value* value) {
    require(value->type != nullptr, "every value has a type");
    require(value->id >= 0 && value->id < graph_.value_count(), "values belong to the graph");
    require(!uses_[value->id].defined, "a value is defined once");
    uses_[value->id] = {value, 0, true, defined_.size()};
    visible_[value->id] = true;
    defined_.push_back(value);
  }

  void use(const Value* value) {
    require(value != nullptr, "no value is missing");
    if (value->id < 0 || value->id >= graph_.value_count() || !visible_[value->id] || uses_[value->id].value != value) {
      fail(reference(value) + " is used where it is not defined");
    }
    require(uses_[value->id].place >= fork_start_ || constant_of(value),
            "the block of a Fork sees nothing of what is outside but constants");
    ++uses_[value->id].count;
  }

  void block(const Block& block) {
    const size_t outer = defined_.size();
    require(block.graph == &graph_, "blocks belong to the graph");
    blocks_.insert(&block);
    for (size_t i = 0; i < block.params.size(); ++i) {
      const Value* param = block.params[i];
      require(param->block == &block && !param->node && param->index == i, "a parameter knows its block and place");
      define(param);
    }
    const Node* enclosing = node_;
    for (auto it = block.nodes.begin(); it != block.nodes.end(); ++it) {
      node_ = *it;
      require(node_->owner == &block, "a node knows the block it stands in");
      require(std::list<Node*>::const_iterator(node_->position) == it, "a node knows its position");
      node(*node_);
    }
    node_ = enclosing;
    for (const Value* result : block.results) use(result);
    for (; defined_.size() > outer; defined_.pop_back()) visible_[defined_.back()->id] = false;
  }

  void node(const Node& node) {
    require(nodes_.insert(&node).second, "a node stands in one place");
    for (const Value* input : node.inputs) use(input);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value* output = node.outputs[i];
      require(output->node == &node && !output->block && output->index == i, "an output knows its node and place");
    }
    shape(node);
    for (const Block* inner : node.blocks) {
      require(inner->owner == &node, "a block knows its node");
      const size_t outer = std::exchange(fork_start_, node.opcode == Opcode::kFork ? defined_.size() : fork_start_);
      block(*inner);
      fork_start_ = outer;
    }
    if (node.opcode == Opcode::kIf) check_if(node);
    if (node.opcode == Opcode::kLoop) check_loop(node);
    if (node.opcode == Opcode::kFork) check_fork(node);
    for (const Value* output : node.outputs) define(output);
  }

  void counts(bool inputs, bool outputs) const {
    require(inputs, "wrong number of inputs");
    require(outputs, "wrong number of outputs");
  }

  void shape(const Node& node) const {
    const size_t in = node.inputs.size(), out = node.outputs.size();
    size_t blocks = 0;
    switch (node.opcode) {
      case Opcode::kOperator: {
        require(node.op != nullptr, "an operator node has an operator");
        const auto& schema = node.op->schema;
        counts(schema.is_vararg() ? in >= schema.arguments().size() : in == schema.arguments().size(),
               schema.is_varret() || out == schema.returns().size());
        break;
      }
      case Opcode::kConstant:
      case Opcode::kCreateObject:
      case Opcode::kLoadState:
      case Opcode::kUninitialized:
        counts(in == 0, out == 1);
        break;
      case Opcode::kIf:
        counts(in == 1, true);
        blocks = 2;
        break;
      case Opcode::kLoop:
        counts(in == out + 2, true);
        blocks = 1;
        break;
      case Opcode::kListConstruct:
        counts(true, out == 1);
        break;
      case Opcode::kTupleConstruct:
        counts(true, out == 1);
        require(node.output()->type->kind() == c10::TypeKind::TupleType, "a tuple has a tuple's type");
        require(node.output()->type->containedTypes().size() == in, "a tuple has one type per element");
        break;
      case Opcode::kDictConstruct:
        counts(in % 2 == 0, out == 1);
        break;
      case Opcode::kListUnpack:
      case Opcode::kTupleUnpack:
        counts(in == 1, true);
        break;
      case Opcode::kTupleIndex:
        counts(in == 2, out == 1);
        break;
      case Opcode::kGetAttr:
      case Opcode::kIsInstance:
        counts(in == 1, out == 1);
        break;
      case Opcode::kSetAttr:
        counts(in == 2, out == 0);
        break;
      case Opcode::kCallMethod:
        counts(in >= 1, out <= 1);
        break;
      case Opcode::kStoreState:
        counts(in == 1, out == 0);
        break;
      case Opcode::kRaise:
        counts(in == 1 || in == 2, out == 0);
        break;
      case Opcode::kVarCat:
      case Opcode::kVarStack:
        counts(in >= 2, out == 1);
        break;
      case Opcode::kFork:
        counts(true, out == 1);
        blocks = 1;
        break;
      case Opcode::kWait:
        counts(in == 1, out == 1);
        break;
    }
    require(node.blocks.size() == blocks, "If has two blocks, Loop and Fork one, other nodes none");
  }

  void check_if(const Node& node) const {
    require(node.input()->type->kind() == c10::TypeKind::BoolType, "the condition of If is a bool");
    for (const Block* block : node.blocks) {
      require(block->params.empty(), "the blocks of If have no parameters");
      require(block->results.size() == node.outputs.size(), "each block of If has one result per output");
      for (size_t i = 0; i < node.outputs.size(); ++i) require_types(block->results[i], node.output(i), "the result");
    }
  }

  void check_loop(const Node& node) const {
    const Block& body = *node.blocks[0];
    require(node.input(0)->type->kind() == c10::TypeKind::IntType, "the trip count of Loop is an int");
    require(node.input(1)->type->kind() == c10::TypeKind::BoolType, "the condition of Loop is a bool");
    require(body.params.size() == node.outputs.size() + 1,
            "the block of Loop has the counter and one parameter per carried value");
    require(body.results.size() == node.outputs.size() + 1,
            "the block of Loop has the condition and one result per carried value");
    require(body.params[0]->type->kind() == c10::TypeKind::IntType, "the counter of Loop is an int");
    require(body.results[0]->type->kind() == c10::TypeKind::BoolType, "the condition of Loop is a bool");
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      require_types(node.input(i + 2), body.params[i + 1], "the carried value");
      require_types(body.results[i + 1], body.params[i + 1], "the carried value");
      require_types(body.params[i + 1], node.output(i), "the carried value");
    }
  }

  void check_fork(const Node& node) const {
    const Block& body = *node.blocks[0];
    require(node.output()->type->kind() == c10::TypeKind::FutureType, "Fork gives a future");
    require(body.params.size() == node.inputs.size(), "the block of Fork has one parameter per argument");
    require(body.results.size() == 1, "the block of Fork has one result");
    for (size_t i = 0; i < node.inputs.size(); ++i) require_types(node.input(i), body.params[i], "the argument");
  }

  // Each use that a value lists is real and listed once, and there are as many as were met.
  void check_uses() const {
    for (const Uses& known : uses_) {
      if (!known.defined) continue;
      const Value& value = *known.value;
      if (value.uses.size() != known.count)
        fail(reference(&value) + " lists " + std::to_string(value.uses.size()) + " uses, but has " +
             std::to_string(known.count));
      std::vector<std::pair<const void*, size_t>> places;
      for (const Use& use : value.uses) {
        bool real = use.user ? nodes_.count(use.user) && use.index < use.user->inputs.size() &&
                                   use.user->inputs[use.index] == &value
                             : blocks_.count(use.block) && use.index < use.block->results.size() &&
                                   use.block->results[use.index] == &value;
        if (!real) fail(reference(&value) + " lists a use that does not exist");
        places.emplace_back(use.user ? static_cast<const void*>(use.user) : use.block, use.index);
      }
      std::sort(places.begin(), places.end());
      if (std::adjacent_find(places.begin(), places.end()) != places.end())
        fail(reference(&value) + " lists a use twice");
    }
  }

  struct Uses {
    const Value* value = nullptr;
    size_t count = 0;
    bool defined = false;
    size_t place = 0;  // in defined_ while it is visible
  };

  const Graph& graph_;
  std::vector<bool> visible_;  // by value id
  std::vector<Uses> uses_;     // by value id
  std::vector<const Value*> defined_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_set<const Block*> blocks_;
  const Node* node_ = nullptr;
  size_t fork_start_ = 0;  // the innermost Fork around sees what is defined from here on
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace stator
