#include "passes/dead_code.h"

#include <limits>
#include <unordered_set>
#include <vector>

#include "analysis/aliases.h"
#include "analysis/effects.h"

namespace stator {
namespace {

// `while` is a Loop with this trip count; any other count bounds the loop.
bool may_not_end(const Node& loop) {
  const c10::IValue* trips = constant_of(loop.input(0));
  return trips && trips->isInt() && trips->toInt() == std::numeric_limits<int64_t>::max();
}

class Liveness {
 public:
  explicit Liveness(const Graph& graph)
      : aliases_(graph),
        values_(graph.value_count()),
        locations_(aliases_.locations().size()),
        writers_(aliases_.locations().size()) {
    for_each_node(graph.root(), [&](const Node* node) {
      bool root = has_side_effects(*node) || (node->opcode == Opcode::kLoop && may_not_end(*node));
      for (LocationId location : written_locations(*node, aliases_)) {
        writers_[location].push_back(node);
        root |= aliases_.locations()[location].kind != Location::Kind::kFresh;
      }
      if (root) mark(node);
    });
    for (const Value* result : graph.outputs()) mark(result);
    while (!pending_.empty()) {
      const Value* value = pending_.back();
      pending_.pop_back();
      spread(value);
    }
  }

  bool live(const Node* node) const { return nodes_.count(node) != 0; }
  bool live(const Value* value) const { return values_[value->id]; }

 private:
  void mark(const Value* value) {
    if (values_[value->id]) return;
    values_[value->id] = true;
    pending_.push_back(value);
  }

  void mark(const Node* node) {
    for (; node && nodes_.insert(node).second; node = node->owner->owner) {
      if (node->opcode == Opcode::kIf) {
        mark(node->input(0));
      } else if (node->opcode == Opcode::kLoop) {
        mark(node->input(0));
        mark(node->input(1));
        mark(node->blocks[0]->results[0]);
      } else if (node->opcode == Opcode::kFork) {
        mark(node->blocks[0]->results[0]);  // arguments when the block needs them
      } else {
        for (const Value* input : node->inputs) mark(input);
      }
    }
  }

  void mark_carried(const Node* loop, size_t i) {
    mark(loop);
    mark(loop->input(i + 2));
    mark(loop->output(i));
    mark(loop->blocks[0]->params[i + 1]);
    mark(loop->blocks[0]->results[i + 1]);
  }

  void spread(const Value* value) {
    for (LocationId location : aliases_.reach(value)) {
      if (locations_[location]) continue;
      locations_[location] = true;
      for (const Node* writer : writers_[location]) mark(writer);
    }
    if (const Node* node = value->node) {
      mark(node);
      if (node->opcode == Opcode::kIf) {
        for (const Block* block : node->blocks) mark(block->results[value->index]);
      } else if (node->opcode == Opcode::kLoop) {
        mark_carried(node, value->index);
      }
    } else if (const Node* owner = value->block->owner; owner && owner->opcode == Opcode::kFork) {
      mark(owner);
      mark(owner->input(value->index));
    } else if (const Node* loop = owner) {
      mark(loop);
      if (value->index > 0) mark_carried(loop, value->index - 1);
    }
  }

  Aliases aliases_;
  std::vector<bool> values_;     // by value id
  std::vector<bool> locations_;  // by location
  std::vector<std::vector<const Node*>> writers_;
  std::unordered_set<const Node*> nodes_;
  std::vector<const Value*> pending_;
};

class Sweep {
 public:
  Sweep(Graph& graph, const Liveness& liveness) : graph_(graph), liveness_(liveness) {}

  bool run() {
    sweep(graph_.root());
    return changed_;
  }

 private:
  // Backwards, so that users go before what they use.
  void sweep(Block& block) {
    for (auto it = block.nodes.end(); it != block.nodes.begin();) {
      Node* node = *--it;
      if (!liveness_.live(node)) {
        ++it;  // erase() takes the node before it
        graph_.erase(node);
        changed_ = true;
      } else if (node->opcode == Opcode::kIf) {
        sweep_if(node);
      } else if (node->opcode == Opcode::kLoop) {
        sweep_loop(node);
      } else if (node->opcode == Opcode::kFork) {
        sweep_fork(node);
      }
    }
  }

  void sweep_if(Node* node) {
    for (size_t i = node->outputs.size(); i-- > 0;) {
      if (liveness_.live(node->output(i))) continue;
      graph_.remove_output(node, i);
      for (Block* block : node->blocks) graph_.remove_result(block, i);
      changed_ = true;
    }
    for (Block* block : node->blocks) sweep(*block);
  }

  void sweep_loop(Node* node) {
    Block* body = node->blocks[0];
    std::vector<size_t> dead_params;
    for (size_t i = node->outputs.size(); i-- > 0;) {
      if (liveness_.live(node->output(i))) continue;
      graph_.remove_output(node, i);
      graph_.remove_result(body, i + 1);
      graph_.remove_input(node, i + 2);
      dead_params.push_back(i + 1);
      changed_ = true;
    }
    sweep(*body);
    for (size_t i : dead_params) graph_.remove_param(body, i);  // last first, now that their users are gone
  }

  void sweep_fork(Node* node) {
    Block* body = node->blocks[0];
    sweep(*body);
    for (size_t i = node->inputs.size(); i-- > 0;) {
      if (liveness_.live(body->params[i])) continue;
      graph_.remove_input(node, i);
      graph_.remove_param(body, i);
      changed_ = true;
    }
  }

  Graph& graph_;
  const Liveness& liveness_;
  bool changed_ = false;
};

}  // namespace

bool dead_code(Graph& graph) {
  Liveness liveness(graph);
  return Sweep(graph, liveness).run();
}

}  // namespace stator
