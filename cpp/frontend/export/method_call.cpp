#include "frontend/export/method_call.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>

#include "frontend/export/arguments.h"
#include "frontend/json.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

constexpr size_t kFirst = 2;  // of the method's own arguments

const c10::FunctionSchema& schema_of(const Builder& builder, const c10::ClassType& type, const std::string& method) {
  if (const auto* found = type.findMethod(method)) return found->getSchema();
  throw Error(ErrorCode::kUnsupported,
              "the program calls the method \"" + method + "\" of the class " + type.annotation_str() +
                  ", which the library that is loaded does not have",
              {method, "", builder.source().str(), ""});
}

// By position, or by name behind those.
const Argument* given(const std::vector<NamedArgument>& inputs, size_t position, const std::string& name) {
  if (position < inputs.size() && inputs[position].name.empty()) return &inputs[position].value;
  for (size_t i = kFirst; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return &inputs[i].value;
  }
  return nullptr;
}

}  // namespace

Value* build_method_call(Builder& builder, const Scope& scope, const std::vector<NamedArgument>& inputs) {
  if (inputs.size() < kFirst) malformed("call_torchbind names no object and method");
  Value* object = build_argument(builder, scope, inputs[0].value, nullptr);
  const auto type = object->type->cast<c10::ClassType>();
  const c10::IValue* method = inputs[1].value.constant();
  if (!type || !method || !method->isString()) malformed("call_torchbind names no object and method");
  const c10::FunctionSchema& schema = schema_of(builder, *type, method->toStringRef());

  Node* call = builder.graph().create(Opcode::kCallMethod, {object});
  call->name = method->toStringRef();
  size_t used = kFirst;
  const auto& formals = schema.arguments();  // the first is the object
  for (size_t i = 1; i < formals.size(); ++i) {
    const c10::Argument& formal = formals[i];
    if (const Argument* argument = given(inputs, i + 1, formal.name())) {
      builder.graph().add_input(call, build_argument(builder, scope, *argument, &formal));
      ++used;
    } else if (formal.default_value()) {
      builder.graph().add_input(call, builder.constant(*formal.default_value()));
    } else {
      malformed("a call of the method \"" + call->name + "\" lacks its argument \"" + formal.name() + "\"");
    }
  }
  if (used != inputs.size()) malformed("a call of the method \"" + call->name + "\" has arguments it does not take");
  builder.graph().add_output(call, schema.returns().empty() ? c10::NoneType::get() : schema.returns()[0].type());
  return builder.place(call)->output();
}

}  // namespace stator::exported
