// Puts nodes into our graph: what importing a node, a container or a control structure have in common.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/export/schema.h"
#include "graph/graph.h"

namespace stator::exported {

// What the names within one of the program's graphs stand for. Graphs within graphs see their operands only.
using Scope = std::unordered_map<std::string, Value*>;

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph), block_(&graph.root()) {}

  Graph& graph() { return graph_; }
  Block* block() { return block_; }
  const SourceLocation& source() const { return source_; }
  void set_source(const SourceLocation& source) { source_ = source; }

  Value* constant(c10::IValue value, c10::TypePtr type = nullptr) {
    return graph_.constant(std::move(value), std::move(type));
  }
  // Appends a node that was made with graph().create().
  Node* place(Node* node);
  // An operator that must exist: "aten::size.int". The result has the type of the schema, or `type`.
  Value* call(const char* key, std::vector<Value*> inputs, c10::TypePtr type = nullptr);
  Value* list(std::vector<Value*> elements, c10::TypePtr element_type);
  void raise(const std::string& message);
  // Raises unless the condition holds.
  void require(Value* condition, const std::string& message);
  // A tensor's or number's truth.
  Value* truth(Value* value);

  // Nodes go to the end of `block` while it lives.
  class Within {
   public:
    Within(Builder& builder, Block* block) : builder_(builder), outer_(builder.block_) { builder.block_ = block; }
    ~Within() { builder_.block_ = outer_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Builder& builder_;
    Block* outer_;
  };

 private:
  Graph& graph_;
  Block* block_;
  SourceLocation source_;
};

[[noreturn]] void refuse(const Builder& builder, const std::string& what, const std::string& why);

}  // namespace stator::exported
