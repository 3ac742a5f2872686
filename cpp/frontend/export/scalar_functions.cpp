#include "frontend/export/scalar_functions.h"

#include <string_view>
#include <unordered_map>

#include "frontend/json.h"
#include "graph/operator.h"

namespace stator::exported {
namespace {

using namespace json;

using Kind = c10::TypeKind;

// TorchScript's operator of the same meaning; which overload follows from the operands.
const std::unordered_map<std::string_view, const char*>& operator_names() {
  static const std::unordered_map<std::string_view, const char*> names{
      {"_operator.add", "aten::add"},
      {"_operator.sub", "aten::sub"},
      {"_operator.mul", "aten::mul"},
      {"_operator.floordiv", "aten::floordiv"},
      {"_operator.truediv", "aten::div"},
      {"_operator.mod", "aten::remainder"},
      {"_operator.neg", "aten::neg"},
      {"_operator.eq", "aten::eq"},
      {"_operator.ne", "aten::ne"},
      {"_operator.lt", "aten::lt"},
      {"_operator.le", "aten::le"},
      {"_operator.gt", "aten::gt"},
      {"_operator.ge", "aten::ge"},
      {"_operator.and_", "aten::__and__"},
      {"_operator.or_", "aten::__or__"},
      {"_operator.lshift", "aten::__lshift__"},
      {"_operator.rshift", "aten::__rshift__"},
      {"torch.sym_max", "prim::max"},
      {"torch.sym_min", "prim::min"},
      {"torch.sym_sqrt", "aten::sqrt"},
  };
  return names;
}

Kind kind(const Value* value) { return value->type->kind(); }

Value* as_int(Builder& builder, Value* value) {
  switch (kind(value)) {
    case Kind::IntType:
      return value;
    case Kind::BoolType:
      return builder.call("aten::Int.bool", {value});
    case Kind::FloatType:
      return builder.call("aten::Int.float", {value});
    default:
      return builder.call("aten::Int.Scalar", {value});
  }
}

Value* as_float(Builder& builder, Value* value) {
  switch (kind(value)) {
    case Kind::FloatType:
      return value;
    case Kind::BoolType:
      return builder.call("aten::Float.bool", {value});
    case Kind::IntType:
      return builder.call("aten::Float.int", {value});
    default:
      return builder.call("aten::Float.Scalar", {value});
  }
}

std::string overload(const std::vector<Value*>& inputs) {
  const auto one = [](const Value* value) -> std::string {
    return kind(value) == Kind::FloatType ? "float" : kind(value) == Kind::BoolType ? "bool" : "int";
  };
  if (inputs.size() == 1 || one(inputs[0]) == one(inputs[1])) return one(inputs[0]);
  return one(inputs[0]) + "_" + one(inputs[1]);
}

Value* converted(Builder& builder, Value* value, const c10::TypePtr& type) {
  if (*value->type == *type) return value;
  switch (type->kind()) {
    case Kind::IntType:
      return as_int(builder, value);
    case Kind::FloatType:
      return as_float(builder, value);
    default:
      return builder.truth(value);
  }
}

Value* build_power(Builder& builder, const std::vector<Value*>& inputs, const c10::TypePtr& type) {
  if (type->kind() == Kind::IntType)
    return builder.call("aten::pow.int_to_int", {as_int(builder, inputs[0]), as_int(builder, inputs[1])});
  return builder.call("aten::pow.float", {as_float(builder, inputs[0]), as_float(builder, inputs[1])});
}

Value* build_choice(Builder& builder, const std::vector<Value*>& inputs, const c10::TypePtr& type) {
  Graph& graph = builder.graph();
  Node* choice = graph.create(Opcode::kIf, {builder.truth(inputs[0])});
  for (size_t i = 1; i <= 2; ++i) {
    Block* block = graph.add_block(choice);
    Builder::Within within(builder, block);
    graph.add_result(block, converted(builder, inputs[i], type));
  }
  graph.add_output(choice, type);
  return builder.place(choice)->output();
}

}  // namespace

Value* build_scalar_function(Builder& builder, const std::string& target, const std::vector<Value*>& given,
                             const c10::TypePtr& type) {
  const auto takes = [&](size_t count) {
    if (given.size() != count) malformed(target + " has " + std::to_string(given.size()) + " arguments");
  };
  if (target == "torch.sym_ite") return takes(3), build_choice(builder, given, type);
  if (target == "_operator.pow") return takes(2), build_power(builder, given, type);
  if (target == "_operator.pos") return takes(1), given[0];
  if (target == "torch.sym_int" || target == "math.trunc") return takes(1), as_int(builder, given[0]);
  if (target == "torch.sym_float") return takes(1), as_float(builder, given[0]);
  if (target == "torch.sym_not") return takes(1), builder.call("aten::__not__", {builder.truth(given[0])});
  auto name = operator_names().find(target);
  if (name == operator_names().end())
    refuse(builder, target, "is no function that this version of Stator knows; export the model without it");
  const bool of_one = target == "_operator.neg" || target == "torch.sym_sqrt";
  takes(of_one ? 1 : 2);

  std::vector<Value*> inputs = given;
  const Operator* op = find_operator(name->second, overload(inputs));
  if (!op) {
    // True counts as 1, and where ints and floats meet, all are floats.
    bool all_ints = true;
    for (Value* input : inputs) all_ints &= kind(input) != Kind::FloatType;
    for (Value*& input : inputs) input = all_ints ? as_int(builder, input) : as_float(builder, input);
    op = find_operator(name->second, overload(inputs));
  }
  if (!op) refuse(builder, target, "has no form for these numbers");
  Node* node = builder.graph().create(op, std::move(inputs));
  builder.graph().add_output(node, op->schema.returns().at(0).type());
  return converted(builder, builder.place(node)->output(), type);
}

}  // namespace stator::exported
