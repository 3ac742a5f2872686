#include "graph/graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/error.h"

namespace stator {
namespace {

constexpr std::array<std::pair<Opcode, const char*>, 22> kOpcodeNames{{
    {Opcode::kConstant, "prim::Constant"},
    {Opcode::kIf, "prim::If"},
    {Opcode::kLoop, "prim::Loop"},
    {Opcode::kListConstruct, "prim::ListConstruct"},
    {Opcode::kTupleConstruct, "prim::TupleConstruct"},
    {Opcode::kDictConstruct, "prim::DictConstruct"},
    {Opcode::kListUnpack, "prim::ListUnpack"},
    {Opcode::kTupleUnpack, "prim::TupleUnpack"},
    {Opcode::kTupleIndex, "prim::TupleIndex"},
    {Opcode::kGetAttr, "prim::GetAttr"},
    {Opcode::kSetAttr, "prim::SetAttr"},
    {Opcode::kCreateObject, "prim::CreateObject"},
    {Opcode::kCallMethod, "prim::CallMethod"},
    {Opcode::kLoadState, "stator::LoadState"},
    {Opcode::kStoreState, "stator::StoreState"},
    {Opcode::kRaise, "prim::RaiseException"},
    {Opcode::kUninitialized, "prim::Uninitialized"},
    {Opcode::kIsInstance, "prim::isinstance"},
    {Opcode::kVarCat, "prim::VarCat"},
    {Opcode::kVarStack, "prim::VarStack"},
    {Opcode::kFork, "prim::fork"},
    {Opcode::kWait, "aten::wait"},
}};

}  // namespace

const char* opcode_name(Opcode opcode) {
  for (auto& [code, name] : kOpcodeNames) {
    if (code == opcode) return name;
  }
  return "";
}

std::optional<Opcode> opcode_from_name(std::string_view wanted) {
  for (auto& [code, name] : kOpcodeNames) {
    if (wanted == name) return code;
  }
  return std::nullopt;
}

std::string SourceLocation::str() const {
  std::string out = file;
  if (!file.empty() && line > 0) out += ":" + std::to_string(line);
  if (!text.empty()) out += (out.empty() ? "\"" : " \"") + text + "\"";
  return out;
}

std::string Node::display_name() const { return opcode == Opcode::kOperator ? op->key : opcode_name(opcode); }

Graph::Graph() : root_(&blocks_.emplace_back()) { root_->graph = this; }

Value* Graph::new_value(c10::TypePtr type, std::string name) {
  Value& value = values_.emplace_back();
  value.id = static_cast<int32_t>(values_.size()) - 1;
  value.type = std::move(type);
  value.name = std::move(name);
  return &value;
}

Node* Graph::create(Opcode opcode, std::vector<Value*> inputs) {
  Node& node = nodes_.emplace_back();
  node.opcode = opcode;
  for (Value* input : inputs) add_input(&node, input);
  return &node;
}

Node* Graph::create(const Operator* op, std::vector<Value*> inputs) {
  Node* node = create(Opcode::kOperator, std::move(inputs));
  node->op = op;
  return node;
}

Block* Graph::add_block(Node* node) {
  Block& block = blocks_.emplace_back();
  block.graph = this;
  block.owner = node;
  node->blocks.push_back(&block);
  return &block;
}

Value* Graph::add_param(Block* block, c10::TypePtr type, std::string name) {
  Value* value = new_value(std::move(type), std::move(name));
  value->block = block;
  value->index = block->params.size();
  block->params.push_back(value);
  return value;
}

Value* Graph::add_output(Node* node, c10::TypePtr type, std::string name) {
  Value* value = new_value(std::move(type), std::move(name));
  value->node = node;
  value->index = node->outputs.size();
  node->outputs.push_back(value);
  return value;
}

void Graph::add_input(Node* node, Value* value) {
  value->uses.push_back({node, nullptr, node->inputs.size()});
  node->inputs.push_back(value);
}

void Graph::drop_use(Value* value, Node* user, Block* block, size_t index) {
  auto& uses = value->uses;
  auto it = std::find_if(uses.begin(), uses.end(),
                         [&](const Use& use) { return use.user == user && use.block == block && use.index == index; });
  TORCH_INTERNAL_ASSERT(it != uses.end());
  uses.erase(it);
}

void Graph::set_input(Node* node, size_t index, Value* value) {
  drop_use(node->inputs[index], node, nullptr, index);
  node->inputs[index] = value;
  value->uses.push_back({node, nullptr, index});
}

void Graph::remove_inputs(Node* node) {
  for (size_t i = 0; i < node->inputs.size(); ++i) drop_use(node->inputs[i], node, nullptr, i);
  node->inputs.clear();
}

void Graph::add_result(Block* block, Value* value) {
  value->uses.push_back({nullptr, block, block->results.size()});
  block->results.push_back(value);
}

void Graph::set_result(Block* block, size_t index, Value* value) {
  drop_use(block->results[index], nullptr, block, index);
  block->results[index] = value;
  value->uses.push_back({nullptr, block, index});
}

namespace {

// The uses of the values behind `from` move down by one place.
void shift_uses(std::vector<Value*>& values, size_t from, Node* user, Block* block) {
  for (size_t i = from; i < values.size(); ++i) {
    for (Use& use : values[i]->uses) {
      if (use.user == user && use.block == block && use.index == i + 1) {
        use.index = i;
        break;
      }
    }
  }
}

}  // namespace

void Graph::remove_result(Block* block, size_t index) {
  drop_use(block->results[index], nullptr, block, index);
  block->results.erase(block->results.begin() + index);
  shift_uses(block->results, index, nullptr, block);
}

void Graph::remove_input(Node* node, size_t index) {
  drop_use(node->inputs[index], node, nullptr, index);
  node->inputs.erase(node->inputs.begin() + index);
  shift_uses(node->inputs, index, node, nullptr);
}

void Graph::remove_param(Block* block, size_t index) {
  TORCH_INTERNAL_ASSERT(block->params[index]->uses.empty());
  block->params.erase(block->params.begin() + index);
  for (size_t i = index; i < block->params.size(); ++i) block->params[i]->index = i;
}

void Graph::remove_output(Node* node, size_t index) {
  TORCH_INTERNAL_ASSERT(node->outputs[index]->uses.empty());
  node->outputs.erase(node->outputs.begin() + index);
  for (size_t i = index; i < node->outputs.size(); ++i) node->outputs[i]->index = i;
}

void Graph::remove_root_input(size_t index) { remove_param(root_, index); }

void Graph::append(Block* block, Node* node) {
  node->owner = block;
  node->position = block->nodes.insert(block->nodes.end(), node);
}

void Graph::insert_before(Node* place, Node* node) {
  node->owner = place->owner;
  node->position = place->owner->nodes.insert(place->position, node);
}

void Graph::insert_after(Node* place, Node* node) {
  node->owner = place->owner;
  node->position = place->owner->nodes.insert(std::next(place->position), node);
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Use& use : from->uses) {
    (use.user ? use.user->inputs : use.block->results)[use.index] = to;
    to->uses.push_back(use);
  }
  from->uses.clear();
}

void Graph::erase(Node* node) {
  for (Value* output : node->outputs) TORCH_INTERNAL_ASSERT(output->uses.empty(), "erased node still in use");
  for (Block* block : node->blocks) {
    while (!block->results.empty()) remove_result(block, block->results.size() - 1);
    while (!block->nodes.empty()) erase(block->nodes.back());
  }
  remove_inputs(node);
  node->owner->nodes.erase(node->position);
  node->owner = nullptr;
  node->constant = c10::IValue();  // frees weights that are no longer used
}

Value* Graph::constant(c10::IValue value, c10::TypePtr type) {
  Node* node = create(Opcode::kConstant);
  Value* output = add_output(node, type ? std::move(type) : value.type());
  node->constant = std::move(value);
  node->owner = root_;
  node->position = root_->nodes.insert(root_->nodes.begin(), node);
  return output;
}

const c10::IValue* constant_of(const Value* value) {
  return value->node && value->node->opcode == Opcode::kConstant ? &value->node->constant : nullptr;
}

}  // namespace stator
