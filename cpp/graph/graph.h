// A small SSA graph: blocks of nodes, values with types. Both front ends produce it, passes rewrite it, plans are made from it.
//
// A Graph owns all its blocks, nodes and values; pointers to them live as long as it does. Order within a block is execution order.
// Structured control flow only: If has two blocks, Loop and Fork one (see Opcode).
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "graph/operator.h"

namespace stator {

class Graph;
struct Block;
struct Node;

// The innermost line of the model's own source.
struct SourceLocation {
  std::string file;
  int64_t line = 0;
  std::string text;  // the expression
  bool known() const { return !file.empty() || !text.empty(); }
  std::string str() const;  // file:line "text"
};

// What a node is. All but kOperator are control flow, containers and state, which have no operator in LibTorch's registries.
enum class Opcode : uint8_t {
  kOperator,  // node->op
  kConstant,  // node->constant; no inputs
  kIf,        // (condition) two blocks without parameters, results of both have the types of the outputs
  kLoop,  // (trip_count, condition, carried...) one block: parameters (i, carried...), results (condition, carried...)
  kListConstruct,   // the output's type says what list
  kTupleConstruct,  // the output's type says what tuple; named tuples too
  kDictConstruct,   // (key, value, key, value, ...)
  kListUnpack,      // as many outputs as elements; another length is an error
  kTupleUnpack,     // one output per element
  kTupleIndex,      // (tuple, int)
  kGetAttr,         // (object), node->name: attribute of an object made by the model
  kSetAttr,         // (object, value), node->name
  kCreateObject,    // the output's type is the class
  kCallMethod,      // (receiver, args...), node->name: resolved by the receiver's type at run time
  kLoadState,       // node->index: slot of the module's state
  kStoreState,      // (value), node->index
  kRaise,           // (message[, class name]): raises; never returns
  kUninitialized,   // a value that is never read
  kIsInstance,      // (value), node->types
  kVarCat,          // (tensor..., dim)
  kVarStack,        // (tensor..., dim)
  kFork,  // (arguments...) -> (future) one block: a parameter per argument, one result; of what is outside it sees constants only
  kWait,  // (future) -> (what the fork's block gave), or its exception
};

const char* opcode_name(Opcode opcode);                    // "prim::If"
std::optional<Opcode> opcode_from_name(std::string_view);  // nullopt if it is none of them

struct Use {
  Node* user = nullptr;  // NULL: a result of `block`
  Block* block = nullptr;
  size_t index = 0;
};

struct Value {
  int32_t id = 0;    // unique in the graph, dense
  std::string name;  // for people; may be empty
  c10::TypePtr type;
  Node* node = nullptr;    // defining node, or
  Block* block = nullptr;  // the block whose parameter it is
  size_t index = 0;        // which output or parameter
  std::vector<Use> uses;

  bool is_tensor() const { return type->isSubtypeOf(*c10::TensorType::get()); }
};

struct Node {
  Opcode opcode = Opcode::kOperator;
  const Operator* op = nullptr;     // kOperator
  c10::IValue constant;             // kConstant
  std::string name;                 // kGetAttr, kSetAttr, kCallMethod
  int64_t index = 0;                // kLoadState, kStoreState
  std::vector<c10::TypePtr> types;  // kIsInstance
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<Block*> blocks;
  SourceLocation source;
  Block* owner = nullptr;
  std::list<Node*>::iterator position;  // in owner->nodes

  Value* input(size_t i = 0) const { return inputs[i]; }
  Value* output(size_t i = 0) const { return outputs[i]; }
  bool is_operator(std::string_view name) const { return opcode == Opcode::kOperator && op->name == name; }
  std::string display_name() const;  // "aten::add.Tensor" or "prim::If"
};

struct Block {
  Graph* graph = nullptr;
  Node* owner = nullptr;  // the If, Loop or Fork; NULL for the root
  std::vector<Value*> params;
  std::list<Node*> nodes;
  std::vector<Value*> results;
};

class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Block& root() { return *root_; }
  const Block& root() const { return *root_; }
  std::vector<Value*>& inputs() { return root_->params; }
  const std::vector<Value*>& inputs() const { return root_->params; }
  const std::vector<Value*>& outputs() const { return root_->results; }
  int32_t value_count() const { return static_cast<int32_t>(values_.size()); }

  // A node that stands nowhere yet; place it with append() or insert_before().
  Node* create(Opcode opcode, std::vector<Value*> inputs = {});
  Node* create(const Operator* op, std::vector<Value*> inputs = {});
  Block* add_block(Node* node);
  Value* add_param(Block* block, c10::TypePtr type, std::string name = {});
  Value* add_output(Node* node, c10::TypePtr type, std::string name = {});
  void add_input(Node* node, Value* value);
  void set_input(Node* node, size_t index, Value* value);
  void remove_inputs(Node* node);
  void add_result(Block* block, Value* value);
  void set_result(Block* block, size_t index, Value* value);
  // For If outputs, Loop-carried values (all of them counted from 0, the loop's condition not among them) and arguments of a Fork.
  void remove_result(Block* block, size_t index);
  void remove_param(Block* block, size_t index);
  void remove_output(Node* node, size_t index);
  void remove_input(Node* node, size_t index);
  void remove_root_input(size_t index);

  void append(Block* block, Node* node);
  void insert_before(Node* place, Node* node);
  void insert_after(Node* place, Node* node);
  void replace_uses(Value* from, Value* to);
  // Takes the node, and what its blocks hold, out of the graph. Its outputs must have no uses.
  void erase(Node* node);

  // A constant at the start of the root block, typed as the value says unless a type is given.
  Value* constant(c10::IValue value, c10::TypePtr type = nullptr);

 private:
  Value* new_value(c10::TypePtr type, std::string name);
  void drop_use(Value* value, Node* user, Block* block, size_t index);

  std::deque<Block> blocks_;
  std::deque<Node> nodes_;
  std::deque<Value> values_;
  Block* root_;
};

// Calls f(node) for every node below `block`, in execution order, owners before what their blocks hold.
template <class F>
void for_each_node(const Block& block, F&& f) {
  for (auto it = block.nodes.begin(); it != block.nodes.end();) {
    Node* node = *it++;  // f may erase the node
    auto blocks = node->blocks;
    f(node);
    for (Block* inner : blocks) for_each_node(*inner, f);
  }
}

// The value of a constant, NULL if it is none.
const c10::IValue* constant_of(const Value* value);

}  // namespace stator
