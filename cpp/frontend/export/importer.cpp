#include "frontend/export/importer.h"

#include <array>
#include <string_view>

#include "frontend/export/arguments.h"
#include "frontend/export/higher_order.h"
#include "frontend/export/method_call.h"
#include "frontend/export/scalar_functions.h"
#include "frontend/json.h"
#include "graph/error.h"
#include "graph/operator.h"

namespace stator::exported {
namespace {

using namespace json;

constexpr std::string_view kOperators = "torch.ops.";
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
constexpr std::string_view kWithEffects = "torch.ops.higher_order.with_effects";
constexpr std::string_view kCallMethod = "torch.ops.higher_order.call_torchbind";

// Shape questions of export and their TorchScript namesakes, which later passes know.
struct Renamed {
  std::string_view from;
  const char* to;
};
constexpr std::array<Renamed, 6> kRenamed{{
    {"aten::sym_size.int", "aten::size.int"},
    {"aten::sym_size", "aten::size"},
    {"aten::sym_stride.int", "aten::stride.int"},
    {"aten::sym_stride", "aten::stride"},
    {"aten::sym_numel", "aten::numel"},
    {"aten::sym_storage_offset", "aten::storage_offset"},
}};

// torch.ops.aten.add.Tensor -> aten::add.Tensor
std::string operator_key(std::string_view target) {
  target.remove_prefix(kOperators.size());
  const size_t space = target.find('.'), overload = target.rfind('.');
  if (space == std::string_view::npos || overload == space) malformed("\"" + std::string(target) + "\" is no operator");
  std::string key(target.substr(0, space));
  key.append("::").append(target.substr(space + 1, overload - space - 1));
  if (const auto name = target.substr(overload + 1); name != "default") key.append(".").append(name);
  for (const Renamed& renamed : kRenamed) {
    if (key == renamed.from) return renamed.to;
  }
  return key;
}

const Operator& operator_of(const Builder& builder, const std::string& target) {
  const std::string key = operator_key(target);
  if (const Operator* op = find_operator(key)) return *op;
  throw Error(ErrorCode::kUnsupported,
              "the program calls the operator \"" + key +
                  "\", which neither LibTorch nor a library loaded so far brings: load its library first; operators "
                  "written in Python cannot run",
              {key, "", builder.source().str(), ""});
}

const Argument* given(const ExportedNode& node, const std::string& name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

// add.Tensor(x, 2) is add.Scalar(x, 2), for which no tensor must be made.
const Operator& with_scalar(const Operator& op, const ExportedNode& node, const Scope& scope) {
  if (op.overload != "Tensor") return op;
  const Argument* other = given(node, "other");
  if (!other) return op;
  const Reference* reference = other->reference();
  const bool tensor = reference ? named(scope, reference->name)->is_tensor() : !other->constant();
  if (tensor || (other->constant() && !other->constant()->isScalar())) return op;
  const Operator* scalar = find_operator(op.name, "Scalar");
  if (!scalar || scalar->schema.arguments().size() != op.schema.arguments().size()) return op;
  for (size_t i = 0; i < op.schema.arguments().size(); ++i) {
    if (scalar->schema.arguments()[i].name() != op.schema.arguments()[i].name()) return op;
  }
  return *scalar;
}

class Importer {
 public:
  Importer(Builder& builder, Scope& scope) : builder_(builder), scope_(scope) {}

  void import(const ExportedNode& node) {
    builder_.set_source(node.source);
    if (node.target == kWithEffects) {
      import_with_effects(node);
    } else if (node.target == kCallMethod) {
      import_method_call(node);
    } else if (node.target.starts_with(kHigherOrder)) {
      import_higher_order(node);
    } else if (node.target.starts_with(kOperators)) {
      import_operator(node);
    } else {
      import_function(node);
    }
  }

 private:
  void import_higher_order(const ExportedNode& node) {
    const auto results = build_higher_order(builder_, scope_, node.target.substr(kHigherOrder.size()), node.inputs);
    size_t next = 0;
    const auto bind_next = [&](const Argument& output) {
      if (next >= results.size()) malformed("a higher-order operator gives fewer results than it should");
      bind(output, results[next++]);
    };
    for (const Argument& output : node.outputs) {
      if (const ArgumentList* several = output.list()) {
        for (const Argument& each : *several) bind_next(each);
      } else {
        bind_next(output);
      }
    }
  }

  // A tuple's elements are results of the node.
  void import_method_call(const ExportedNode& node) {
    Value* result = build_method_call(builder_, scope_, node.inputs);
    if (result->type->kind() == c10::TypeKind::TupleType) {
      Node* unpacking = builder_.graph().create(Opcode::kTupleUnpack, {result});
      for (const c10::TypePtr& type : result->type->containedTypes()) builder_.graph().add_output(unpacking, type);
      bind_results(node, builder_.place(unpacking)->outputs);
    } else {
      bind_results(node, {result});
    }
  }

  // (token, operator, arguments...) -> (token, results...) is a plain call: nodes that do more than give results keep their order here.
  void import_with_effects(const ExportedNode& node) {
    const c10::IValue* target = node.inputs.size() > 1 ? node.inputs[1].value.constant() : nullptr;
    if (!target || !target->isString() || !target->toStringRef().starts_with(kOperators) ||
        target->toStringRef() == kWithEffects || node.outputs.empty())
      malformed("with_effects names no operator");
    ExportedNode call;
    call.target = target->toStringRef();
    call.source = node.source;
    call.inputs.assign(node.inputs.begin() + 2, node.inputs.end());
    if (!call.target.starts_with(kHigherOrder)) name_arguments(call);
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].constant()) call.outputs.push_back(node.outputs[i]);
    }
    import(call);
    bind(node.outputs[0], builder_.constant(c10::IValue()));
  }

  void name_arguments(ExportedNode& call) {
    const auto& formals = operator_of(builder_, call.target).schema.arguments();
    for (size_t i = 0; i < call.inputs.size() && i < formals.size(); ++i) {
      if (call.inputs[i].name.empty()) call.inputs[i].name = formals[i].name();
    }
  }

  void import_function(const ExportedNode& node) {
    if (node.outputs.size() != 1 || !node.outputs[0].reference()) malformed("a function on numbers has one result");
    std::vector<Value*> inputs;
    for (const NamedArgument& input : node.inputs)
      inputs.push_back(build_argument(builder_, scope_, input.value, nullptr));
    const Reference& result = *node.outputs[0].reference();
    scope_[result.name] = build_scalar_function(builder_, node.target, inputs, result.type);
  }

  void import_operator(const ExportedNode& node) {
    const Operator& op = with_scalar(operator_of(builder_, node.target), node, scope_);
    std::vector<Value*> inputs = arguments(op, node);
    if (op.key == "aten::_assert_scalar") return import_assertion(node, inputs);
    Node* made = builder_.graph().create(&op, std::move(inputs));
    for (const c10::Argument& result : op.schema.returns()) builder_.graph().add_output(made, result.type());
    bind_results(node, builder_.place(made)->outputs);
  }

  void bind_results(const ExportedNode& node, const std::vector<Value*>& results) {
    if (node.outputs.size() > results.size())
      malformed(node.target + " has " + std::to_string(node.outputs.size()) + " results");
    for (size_t i = 0; i < node.outputs.size(); ++i) bind(node.outputs[i], results[i]);
  }

  std::vector<Value*> arguments(const Operator& op, const ExportedNode& node) {
    std::vector<Value*> out;
    size_t used = 0;
    for (const c10::Argument& formal : op.schema.arguments()) {
      if (const Argument* argument = given(node, formal.name())) {
        out.push_back(build_argument(builder_, scope_, *argument, &formal));
        ++used;
      } else if (formal.default_value()) {
        const c10::IValue& absent = *formal.default_value();
        out.push_back(builder_.constant(absent, absent.isNone() ? absent.type() : formal.type()));
      } else {
        malformed(op.key + " lacks its argument \"" + formal.name() + "\"");
      }
    }
    if (used != node.inputs.size()) malformed(op.key + " has arguments that this LibTorch's does not have");
    return out;
  }

  void import_assertion(const ExportedNode& node, const std::vector<Value*>& inputs) {
    const Argument* message = given(node, "assert_msg");
    const c10::IValue* text = message ? message->constant() : nullptr;
    builder_.require(builder_.truth(inputs[0]), text && text->isString() ? text->toStringRef() : "assertion failed");
  }

  void bind(const Argument& output, Value* value) {
    if (const Reference* reference = output.reference()) {
      value->type = value->type->kind() == c10::TypeKind::NumberType ? reference->type : value->type;
      if (value->name.empty()) value->name = reference->name;
      scope_[reference->name] = value;
    } else if (const ArgumentList* elements = output.list()) {
      unpack(*elements, value);
    } else if (!output.constant()) {
      malformed("the result of a node is a graph");
    }
  }

  void unpack(const ArgumentList& elements, Value* value) {
    if (value->type->kind() != c10::TypeKind::ListType) malformed("several results stand where there is one");
    Node* node = builder_.graph().create(Opcode::kListUnpack, {value});
    const auto type = value->type->expectRef<c10::ListType>().getElementType();
    for (size_t i = 0; i < elements.size(); ++i) builder_.graph().add_output(node, type);
    builder_.place(node);
    for (size_t i = 0; i < elements.size(); ++i) bind(elements[i], node->outputs[i]);
  }

  Builder& builder_;
  Scope& scope_;
};

}  // namespace

std::vector<Value*> import_nodes(Builder& builder, const ExportedGraph& graph, Scope& scope) {
  Importer importer(builder, scope);
  for (const ExportedNode& node : graph.nodes) importer.import(node);
  std::vector<Value*> out;
  for (const Argument& output : graph.outputs) out.push_back(build_argument(builder, scope, output, nullptr));
  return out;
}

std::vector<Value*> inline_graph(Builder& builder, const ExportedGraph& graph, const std::vector<Value*>& operands) {
  if (graph.inputs.size() != operands.size()) malformed("a graph has not as many inputs as it is given operands");
  Scope scope;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const Reference* input = graph.inputs[i].reference()) scope[input->name] = operands[i];
  }
  return import_nodes(builder, graph, scope);
}

}  // namespace stator::exported
