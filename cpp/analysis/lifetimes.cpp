#include "analysis/lifetimes.h"

#include <algorithm>
#include <limits>

namespace stator {
namespace {

void number(const Block& block, FlatOrder& order) {
  for (const Node* node : block.nodes) {
    auto& span = order.spans[node];
    span.first = span.last = order.end++;
    if (node->blocks.empty()) continue;
    for (const Block* inner : node->blocks) {
      number(*inner, order);
      order.end++;  // where the block's results are handed over
    }
    order.spans[node].last = order.end++;
  }
}

template <class F>
void for_each_value(const Block& block, F&& f) {
  for (const Value* param : block.params) f(param);
  for (const Node* node : block.nodes) {
    for (const Value* output : node->outputs) f(output);
    for (const Block* inner : node->blocks) for_each_value(*inner, f);
  }
}

}  // namespace

FlatOrder::FlatOrder(const Graph& graph) { number(graph.root(), *this); }

int32_t FlatOrder::definition(const Value* value) const {
  if (value->node) return spans.at(value->node).first;
  return value->block->owner ? spans.at(value->block->owner).first : -1;
}

int32_t FlatOrder::use(const Use& use) const {
  if (use.user) return spans.at(use.user).first;
  return use.block->owner ? spans.at(use.block->owner).last : end;
}

Lifetimes::Lifetimes(const Graph& graph, const Aliases& aliases, const FlatOrder& order)
    : lifetimes_(aliases.locations().size(), Lifetime{std::numeric_limits<int32_t>::max(), -1}),
      carried_(aliases.locations().size(), false) {
  for_each_value(graph.root(), [&](const Value* value) {
    LocationSet reached = aliases.reach(value);
    if (reached.empty()) return;
    int32_t first = order.definition(value);
    int32_t last = first;
    for (const Use& use : value->uses) last = std::max(last, order.use(use));
    for (LocationId location : reached) {
      auto& lifetime = lifetimes_[location];
      lifetime.first = std::min(lifetime.first, first);
      lifetime.last = std::max(lifetime.last, last);
    }
  });

  std::vector<FlatOrder::Span> loops;
  for (auto& [node, span] : order.spans) {
    if (node->opcode == Opcode::kLoop) loops.push_back(span);
  }
  // Inner loops first, so that what is stretched over an inner one is seen by the outer.
  std::sort(loops.begin(), loops.end(), [](auto& a, auto& b) { return a.last - a.first < b.last - b.first; });
  for (size_t i = 0; i < lifetimes_.size(); ++i) {
    const Location& location = aliases.locations()[i];
    Lifetime& lifetime = lifetimes_[i];
    int32_t made = location.value && location.kind == Location::Kind::kFresh ? order.definition(location.value) : -1;
    for (const auto& loop : loops) {
      bool made_inside = made > loop.first && made <= loop.last;
      bool seen_outside = lifetime.first <= loop.first || lifetime.last >= loop.last;
      bool meets = lifetime.first <= loop.last && loop.first <= lifetime.last;
      if (made_inside && seen_outside) carried_[i] = true;
      if (meets && !(made_inside && !seen_outside)) {
        lifetime.first = std::min(lifetime.first, loop.first);
        lifetime.last = std::max(lifetime.last, loop.last);
      }
    }
  }
}

}  // namespace stator
