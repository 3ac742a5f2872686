// Which values may share memory, over a whole graph: values captured by blocks, block results, and elements of containers included.
//
// An inclusion-based points-to analysis (Andersen, "Program Analysis and Specialization for the C Programming Language", 1994), flow
// insensitive. Every place that can hold a tensor, a container or an object is a *location*; a value points to locations; a container's
// location has contents. One operator of unknown behaviour only concerns the locations that reach it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace stator {

using LocationId = int32_t;
using LocationSet = std::vector<LocationId>;  // sorted, unique

struct Location {
  enum class Kind : uint8_t { kFresh, kInput, kConstant, kState } kind = Kind::kFresh;
  const Value* value = nullptr;  // the value that brings the location into being
  int64_t state_slot = -1;       // kState
  bool written = false;          // some operator may write into the memory, or change the container
};

class Aliases {
 public:
  explicit Aliases(const Graph& graph);

  const std::vector<Location>& locations() const { return locations_; }
  // Where the value itself may live.
  const LocationSet& points_to(const Value* value) const { return points_to_[value->id]; }
  // The same and, through containers, everything that can be reached from it.
  LocationSet reach(const Value* value) const;
  LocationSet reach(const LocationSet& from) const;
  // What StoreState may have put into a slot (the slot's own first value not among it).
  const std::vector<std::pair<int64_t, const Value*>>& state_stores() const { return state_stores_; }
  // The location that an output of a node brings into being, -1 if it makes none.
  LocationId made_by(const Value* value) const { return made_by_[value->id]; }

 private:
  void visit(const Block& block);
  void visit(const Node& node);
  void visit_operator(const Node& node);
  void visit_opaque(const Node& node);

  LocationId locate(const Value* value, Location::Kind kind);
  LocationId locate_state(int64_t slot, const Value* value);
  LocationId contents_cell(LocationId location, const Value* value);
  void flow(const Value* from, const Value* to);
  void flow(const LocationSet& from, const Value* to);
  void load(const Value* container, const Value* to);
  void store(const LocationSet& what, const Value* container);
  void write(const Value* value);
  void merge(LocationSet& into, const LocationSet& from);

  std::vector<Location> locations_;
  std::vector<LocationSet> contents_;   // by location
  std::vector<LocationSet> points_to_;  // by value id
  std::vector<LocationId> made_by_;     // by value id
  std::vector<std::pair<int64_t, LocationId>> state_locations_;
  std::vector<std::pair<int64_t, const Value*>> state_stores_;
  bool changed_ = false;
};

bool contains(const LocationSet& set, LocationId location);

// False for numbers, strings, None and their kin: values of this type never share memory.
bool may_alias(const c10::TypePtr& type);

}  // namespace stator
