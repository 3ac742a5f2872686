#include "frontend/export/arguments_reader.h"

#include <functional>
#include <unordered_map>

#include "frontend/export/enums.h"
#include "frontend/export/source.h"
#include "frontend/export/symbols.h"
#include "frontend/torchscript/bound_class.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

constexpr int kDeepestGraphs = 64;  // graphs within graphs

using ReadAlternative = Argument (*)(const Json&);

Argument none(const Json&) { return {c10::IValue()}; }

Argument reference(const Json& json, const char* name, c10::TypePtr type) {
  return {Reference{text(member(json, name), name), std::move(type)}};
}

// Of a class in C++. What Python code defines goes by the name of its own class.
Argument object(const Json& json) {
  const std::string& name = text(member(json, "class_fqn"), "class_fqn");
  if (!is_bound_class(name))
    throw Error(ErrorCode::kUnsupported, "the program uses an object of the Python class " + name +
                                             ", which needs Python; give the model tensors and numbers instead, or an "
                                             "object of a class in C++");
  return reference(json, "name", bound_class(name));
}

Argument tensor(const Json& json) { return reference(json, "name", c10::TensorType::get()); }

Argument whole_number(const Json& json) { return {c10::IValue(integer(json, "an int"))}; }
Argument real_number(const Json& json) { return {c10::IValue(number(json, "a float"))}; }
Argument truth(const Json& json) { return {c10::IValue(boolean(json, "a bool"))}; }
Argument string(const Json& json) { return {c10::IValue(text(json, "a text"))}; }

Argument complex_number(const Json& json) {
  return {
      c10::IValue(c10::complex<double>(number(member(json, "real"), "real"), number(member(json, "imag"), "imag")))};
}

Argument dtype(const Json& json) { return {c10::IValue(static_cast<int64_t>(dtype_of(integer(json, "a dtype"))))}; }
Argument layout(const Json& json) { return {c10::IValue(static_cast<int64_t>(layout_of(integer(json, "a layout"))))}; }
Argument memory_format(const Json& json) {
  return {c10::IValue(static_cast<int64_t>(memory_format_of(integer(json, "a memory format"))))};
}

// Programs of other devices run here too.
Argument device(const Json& json) {
  text(member(json, "type"), "type of a device");
  return {c10::IValue(c10::Device(at::kCPU))};
}

// A number that is known, or one that is computed.
template <ReadAlternative kRead>
Argument symbolic(const Json& json, const char* constant, c10::TypePtr type) {
  const auto [kind, value] = alternative(json, "a symbolic number");
  if (kind == "as_name") return {Reference{text(*value, "as_name"), std::move(type)}};
  if (kind == constant) return kRead(*value);
  malformed("unknown kind of a symbolic number: \"" + std::string(kind) + "\"");
}

Argument symbolic_int(const Json& json) { return symbolic<whole_number>(json, "as_int", c10::IntType::get()); }
Argument symbolic_float(const Json& json) { return symbolic<real_number>(json, "as_float", c10::FloatType::get()); }
Argument symbolic_bool(const Json& json) { return symbolic<truth>(json, "as_bool", c10::BoolType::get()); }

Argument optional_tensor(const Json& json) {
  const auto [kind, value] = alternative(json, "an optional tensor");
  if (kind == "as_none") return none(*value);
  if (kind == "as_tensor") return tensor(*value);
  malformed("unknown kind of an optional tensor: \"" + std::string(kind) + "\"");
}

template <ReadAlternative kRead>
Argument each(const Json& json) {
  ArgumentList out;
  for (const Json& element : list(json, "a list of arguments")) out.push_back(kRead(element));
  return {std::move(out)};
}

const std::unordered_map<std::string_view, ReadAlternative>& readers() {
  static const std::unordered_map<std::string_view, ReadAlternative> table{
      {"as_none", none},
      {"as_tensor", tensor},
      {"as_tensors", each<tensor>},
      {"as_custom_obj", object},
      {"as_optional_tensor", optional_tensor},
      {"as_optional_tensors", each<optional_tensor>},
      {"as_nested_tensors", each<each<tensor>>},
      {"as_int", whole_number},
      {"as_ints", each<whole_number>},
      {"as_int_lists", each<each<whole_number>>},
      {"as_float", real_number},
      {"as_floats", each<real_number>},
      {"as_float_lists", each<each<real_number>>},
      {"as_bool", truth},
      {"as_bools", each<truth>},
      {"as_string", string},
      {"as_strings", each<string>},
      {"as_operator", string},
      {"as_complex", complex_number},
      {"as_scalar_type", dtype},
      {"as_layout", layout},
      {"as_memory_format", memory_format},
      {"as_device", device},
      {"as_sym_int", symbolic_int},
      {"as_sym_ints", each<symbolic_int>},
      {"as_sym_float", symbolic_float},
      {"as_sym_floats", each<symbolic_float>},
      {"as_sym_bool", symbolic_bool},
      {"as_sym_bools", each<symbolic_bool>},
  };
  return table;
}

ExportedNode read_node(const Json& json, int depth) {
  ExportedNode node;
  node.target = text(member(json, "target"), "target");
  for (const Json& input : list(member(json, "inputs"), "inputs of a node")) {
    node.inputs.push_back(
        {text(member(input, "name"), "name of an argument"), read_argument(member(input, "arg"), depth)});
  }
  for (const Json& output : list(member(json, "outputs"), "outputs of a node"))
    node.outputs.push_back(read_argument(output, depth));
  if (const Json* metadata = optional_member(json, "metadata")) {
    if (const Json* trace = optional_member(*metadata, "stack_trace"); trace && trace->is_string())
      node.source = innermost_line(text(*trace, "stack_trace"));
  }
  return node;
}

std::vector<Argument> read_arguments(const Json& json, const char* what, int depth) {
  std::vector<Argument> out;
  for (const Json& argument : list(json, what)) out.push_back(read_argument(argument, depth));
  return out;
}

}  // namespace

Argument read_argument(const Json& json, int depth) {
  const auto [kind, value] = alternative(json, "an argument");
  if (kind == "as_graph")
    return {std::make_shared<const ExportedGraph>(read_graph(member(*value, "graph"), depth + 1))};
  auto reader = readers().find(kind);
  if (reader == readers().end())
    throw Error(ErrorCode::kUnsupported,
                "the program has an argument of an unknown kind: \"" + std::string(kind) + "\"");
  return reader->second(*value);
}

SizeExpression read_size(const Json& json) {
  const auto [kind, value] = alternative(json, "a size");
  SizeExpression out;
  if (kind == "as_int") {
    out.number = integer(*value, "a size");
    return out;
  }
  if (kind != "as_expr") malformed("unknown kind of a size: \"" + std::string(kind) + "\"");
  const std::string& expression = text(member(*value, "expr_str"), "expr_str");
  if (auto known = parse_symbols(expression)) return *known;
  // Whatever it is: where it stands twice, it is the same.
  out.kind = SizeExpression::Kind::kSymbol;
  out.symbol = expression;
  return out;
}

TensorMeta read_tensor_meta(const Json& json) {
  TensorMeta meta;
  meta.dtype = dtype_of(integer(member(json, "dtype"), "a dtype"));
  if (const Json* layout = optional_member(json, "layout")) meta.layout = layout_of(integer(*layout, "a layout"));
  for (const Json& size : list(member(json, "sizes"), "sizes")) meta.sizes.push_back(read_size(size));
  for (const Json& stride : list(member(json, "strides"), "strides")) meta.strides.push_back(read_size(stride));
  if (const Json* offset = optional_member(json, "storage_offset")) meta.storage_offset = read_size(*offset);
  return meta;
}

ExportedGraph read_graph(const Json& json, int depth) {
  if (depth > kDeepestGraphs) malformed("graphs are nested too deeply");
  ExportedGraph graph;
  graph.inputs = read_arguments(member(json, "inputs"), "inputs of a graph", depth);
  graph.outputs = read_arguments(member(json, "outputs"), "outputs of a graph", depth);
  for (const Json& node : list(member(json, "nodes"), "nodes")) graph.nodes.push_back(read_node(node, depth));
  if (const Json* tensors = optional_member(json, "tensor_values")) {
    if (!tensors->is_object()) malformed("tensor_values is no object");
    for (auto it = tensors->begin(); it != tensors->end(); ++it) graph.tensors.emplace(it.key(), read_tensor_meta(*it));
  }
  if (const Json* ints = optional_member(json, "sym_int_values")) {
    if (!ints->is_object()) malformed("sym_int_values is no object");
    for (auto it = ints->begin(); it != ints->end(); ++it) graph.ints.emplace(it.key(), read_size(*it));
  }
  return graph;
}

}  // namespace stator::exported
