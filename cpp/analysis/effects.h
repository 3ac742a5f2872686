// What a node does besides computing its results from its inputs.
#pragma once

#include <vector>

#include "analysis/aliases.h"
#include "graph/graph.h"

namespace stator {

// It draws from a random generator, whose next numbers therefore depend on it. A dropout whose `train` is constant false does not.
bool is_random(const Node& node);

// It acts on something that is no location: messages, state, the generator, an exception, an unknown method. Its own blocks not regarded.
bool has_side_effects(const Node& node);

// It reads something that is no argument (clock, seed, modes of the calling thread), or says itself that it may differ from run to run.
bool reads_environment(const Node& node);

// An operator or prim node whose results follow from its inputs alone and that changes nothing. If and Loop are none.
bool is_pure(const Node& node);

// What the node may write of its inputs. Sorted, unique.
LocationSet written_locations(const Node& node, const Aliases& aliases);

// Which values stay as they are from their making to the end of the graph, so that one object may serve all runs.
class Immutability {
 public:
  Immutability(const Graph& graph, const Aliases& aliases);

  // True if nothing that the value reaches is ever written, kept by state, an object or an argument, or told apart by identity.
  // Returned values may hold: results are copied at the boundary. Values younger than the analysis never do.
  bool holds(const Value* value) const;
  // The same of one location alone, not of what it contains.
  bool exposed(LocationId location) const { return exposed_[location]; }

 private:
  void expose(const LocationSet& locations);

  const Aliases& aliases_;
  int32_t known_values_;
  std::vector<bool> exposed_;  // by location
};

}  // namespace stator
