// Graphs as JSON: a node is a list [what, inputs, outputs, source, attribute, blocks]; values are numbered as they are defined.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/planned/values.h"
#include "graph/graph.h"

namespace stator::planned {

// Operators and opcodes by name, and lines of the model's source: rows that nodes name.
class GraphWriter {
 public:
  GraphWriter(TypeWriter& types, ValueWriter& values) : types_(types), values_(values) {}

  Json write(const Graph& graph);
  const Json& operators() const { return operators_; }
  const Json& sources() const { return sources_; }

 private:
  using Numbers = std::map<const Value*, int64_t>;
  static int64_t intern(Json row, std::map<std::string, int64_t>& known, Json& rows);
  Json block(const Block& block, Numbers& numbers);
  Json node(const Node& node, Numbers& numbers);
  Json attribute(const Node& node);
  Json define(const std::vector<Value*>& values, Numbers& numbers);

  TypeWriter& types_;
  ValueWriter& values_;
  Json operators_ = Json::array(), sources_ = Json::array();
  std::map<std::string, int64_t> known_operators_, known_sources_;
};

class GraphReader {
 public:
  GraphReader(const Json& operators, const Json& sources, const TypeReader& types, const ValueReader& values,
              size_t slots);

  // Verified. Throws Error(kBadModel).
  std::unique_ptr<Graph> read(const Json& json) const;

 private:
  struct What {
    Opcode opcode;
    const Operator* op;
  };
  static What what_of(const Json& row);
  void block(const Json& json, Graph& graph, Block* to, std::vector<Value*>& values, int depth) const;
  void node(const Json& json, Graph& graph, Block* to, std::vector<Value*>& values, int depth) const;
  void attribute(const Json& json, Node* node) const;

  const TypeReader& types_;
  const ValueReader& values_;
  const size_t slots_;
  std::vector<What> operators_;
  std::vector<SourceLocation> sources_;
};

}  // namespace stator::planned
