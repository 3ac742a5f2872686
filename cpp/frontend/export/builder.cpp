#include "frontend/export/builder.h"

#include "graph/error.h"
#include "graph/operator.h"

namespace stator::exported {

void refuse(const Builder& builder, const std::string& what, const std::string& why) {
  throw Error(ErrorCode::kUnsupported, what + " " + why, {what, "", builder.source().str(), ""});
}

Node* Builder::place(Node* node) {
  node->source = source_;
  graph_.append(block_, node);
  return node;
}

Value* Builder::call(const char* key, std::vector<Value*> inputs, c10::TypePtr type) {
  const Operator* op = find_operator(key);
  if (!op) refuse(*this, key, "is not registered by this LibTorch");
  Node* node = graph_.create(op, std::move(inputs));
  graph_.add_output(node, type ? std::move(type) : op->schema.returns().at(0).type());
  return place(node)->output();
}

Value* Builder::list(std::vector<Value*> elements, c10::TypePtr element_type) {
  Node* node = graph_.create(Opcode::kListConstruct, std::move(elements));
  graph_.add_output(node, c10::ListType::create(std::move(element_type)));
  return place(node)->output();
}

void Builder::raise(const std::string& message) {
  place(graph_.create(Opcode::kRaise, {constant(message), constant(std::string("RuntimeError"))}));
}

void Builder::require(Value* condition, const std::string& message) {
  Node* check = place(graph_.create(Opcode::kIf, {condition}));
  graph_.add_block(check);
  Within within(*this, graph_.add_block(check));
  raise(message);
}

Value* Builder::truth(Value* value) {
  switch (value->type->kind()) {
    case c10::TypeKind::BoolType:
      return value;
    case c10::TypeKind::TensorType:
      return call("aten::Bool.Tensor", {value});
    case c10::TypeKind::IntType:
      return call("aten::Bool.int", {value});
    case c10::TypeKind::FloatType:
      return call("aten::Bool.float", {value});
    default:
      refuse(*this, "the truth of a " + value->type->annotation_str(), "is asked for, which is not supported");
  }
}

}  // namespace stator::exported
