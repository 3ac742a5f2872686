// When memory is alive, over a flat numbering of a graph's instructions: blocks in line, a loop's body once.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/aliases.h"
#include "memory/layout.h"

namespace stator {

// The place of every node in the flat order. If and Loop also have a place where they end.
struct FlatOrder {
  struct Span {
    int32_t first = 0;  // the node itself
    int32_t last = 0;   // its end; the same for nodes without blocks
  };
  std::unordered_map<const Node*, Span> spans;
  int32_t end = 0;  // after everything: where the method's results are read

  explicit FlatOrder(const Graph& graph);
  int32_t definition(const Value* value) const;
  // The place of a use; a block's result is read at the end of the block's owner, a method's at `end`.
  int32_t use(const Use& use) const;
};

// The lifetime of the memory that a value's node makes for it: from there to the last use of anything that may reach the memory,
// through views, containers, block results and captured values; stretched over loops that it crosses.
// nullopt: it cannot be planned, because it may outlive the iteration that made it.
class Lifetimes {
 public:
  Lifetimes(const Graph& graph, const Aliases& aliases, const FlatOrder& order);

  const Lifetime& of(LocationId location) const { return lifetimes_[location]; }
  // The next iteration of a loop may make the memory anew while the last one's is still in use.
  bool carried(LocationId location) const { return carried_[location]; }

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<bool> carried_;
};

}  // namespace stator
