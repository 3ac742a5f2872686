#include "frontend/planned/graphs.h"

#include <sstream>

#include "graph/error.h"
#include "graph/verifier.h"

namespace stator::planned {
namespace {

using namespace json;

constexpr int kDeepestBlocks = 200;
constexpr size_t kNodeParts = 6;

std::string schema_text(const Operator& op) {
  std::ostringstream out;
  out << op.schema;
  return out.str();
}

std::vector<Value*> values_of(const Json& numbers, const std::vector<Value*>& values) {
  std::vector<Value*> out;
  for (const Json& number : list(numbers, "values")) {
    const int64_t index = integer(number, "a value");
    if (index < 0 || index >= static_cast<int64_t>(values.size())) malformed("a node uses what nothing defines");
    out.push_back(values[static_cast<size_t>(index)]);
  }
  return out;
}

// Calls make(type, name) for each pair of a list [type, name, type, name, ...].
template <class F>
void for_each_definition(const Json& json, F&& make) {
  if (list(json, "definitions").size() % 2 != 0) malformed("a value has no name");
  for (size_t i = 0; i < json.size(); i += 2) make(json[i], text(json[i + 1], "a name"));
}

}  // namespace

// Writing ---------------------------------------------------------------------------------------------------------

int64_t GraphWriter::intern(Json row, std::map<std::string, int64_t>& known, Json& rows) {
  const auto [place, added] =
      known.emplace(row.dump(-1, ' ', false, Json::error_handler_t::replace), static_cast<int64_t>(rows.size()));
  if (added) rows.push_back(std::move(row));
  return place->second;
}

Json GraphWriter::write(const Graph& graph) {
  Numbers numbers;
  return block(graph.root(), numbers);
}

Json GraphWriter::define(const std::vector<Value*>& values, Numbers& numbers) {
  Json out = Json::array();
  for (const Value* value : values) {
    numbers.emplace(value, static_cast<int64_t>(numbers.size()));
    out.push_back(types_.add(value->type));
    out.push_back(value->name);
  }
  return out;
}

Json GraphWriter::block(const Block& from, Numbers& numbers) {
  Json params = define(from.params, numbers), nodes = Json::array(), results = Json::array();
  for (const Node* each : from.nodes) nodes.push_back(node(*each, numbers));
  for (const Value* result : from.results) results.push_back(numbers.at(result));
  return {{"params", std::move(params)}, {"nodes", std::move(nodes)}, {"results", std::move(results)}};
}

Json GraphWriter::node(const Node& node, Numbers& numbers) {
  Json inputs = Json::array(), blocks = Json::array();
  for (const Value* input : node.inputs) inputs.push_back(numbers.at(input));
  for (const Block* inner : node.blocks) blocks.push_back(block(*inner, numbers));
  Json what = node.opcode == Opcode::kOperator ? Json{node.op->name, node.op->overload, schema_text(*node.op)}
                                               : Json(opcode_name(node.opcode));
  Json source{node.source.file, node.source.line, node.source.text};
  return {intern(std::move(what), known_operators_, operators_), std::move(inputs), define(node.outputs, numbers),
          intern(std::move(source), known_sources_, sources_),   attribute(node),   std::move(blocks)};
}

Json GraphWriter::attribute(const Node& node) {
  switch (node.opcode) {
    case Opcode::kConstant:
      return values_.write(node.constant);
    case Opcode::kGetAttr:
    case Opcode::kSetAttr:
    case Opcode::kCallMethod:
      return node.name;
    case Opcode::kLoadState:
    case Opcode::kStoreState:
      return node.index;
    case Opcode::kIsInstance: {
      Json types = Json::array();
      for (const c10::TypePtr& type : node.types) types.push_back(types_.add(type));
      return types;
    }
    default:
      return nullptr;
  }
}

// Reading ---------------------------------------------------------------------------------------------------------

GraphReader::GraphReader(const Json& operators, const Json& sources, const TypeReader& types, const ValueReader& values,
                         size_t slots)
    : types_(types), values_(values), slots_(slots) {
  for (const Json& row : list(operators, "operators")) operators_.push_back(what_of(row));
  for (const Json& row : list(sources, "sources")) {
    if (list(row, "a source").size() != 3) malformed("a source is not what it should be");
    sources_.push_back({text(row[0], "a file"), integer(row[1], "a line"), text(row[2], "an expression")});
  }
}

GraphReader::What GraphReader::what_of(const Json& row) {
  if (row.is_string()) {
    const auto opcode = opcode_from_name(row.get_ref<const std::string&>());
    if (!opcode) malformed("there is no " + row.dump());
    return {*opcode, nullptr};
  }
  if (list(row, "an operator").size() != 3) malformed("an operator is not what it should be");
  const std::string &name = text(row[0], "an operator"), &overload = text(row[1], "an overload");
  const Operator* op = find_operator(name, overload);
  if (!op) {
    throw Error(ErrorCode::kUnsupported,
                "the model calls the operator \"" + name +
                    "\", which neither LibTorch nor a library loaded so far brings: load its library first",
                {.op = name});
  }
  if (schema_text(*op) != text(row[2], "a schema")) {
    throw Error(ErrorCode::kUnsupported,
                "the model was converted for the operator " + row[2].get<std::string>() + ", here it is " +
                    schema_text(*op) + ": convert the model anew",
                {.op = op->key});
  }
  return {Opcode::kOperator, op};
}

std::unique_ptr<Graph> GraphReader::read(const Json& json) const {
  auto graph = std::make_unique<Graph>();
  std::vector<Value*> values;
  block(json, *graph, &graph->root(), values, 0);
  try {
    verify(*graph);
  } catch (const Error& error) {
    malformed(error.message);
  }
  return graph;
}

void GraphReader::block(const Json& json, Graph& graph, Block* to, std::vector<Value*>& values, int depth) const {
  if (depth > kDeepestBlocks) malformed("blocks stand too deep in each other");
  for_each_definition(member(json, "params"), [&](const Json& type, const std::string& name) {
    values.push_back(graph.add_param(to, types_[type], name));
  });
  for (const Json& each : list(member(json, "nodes"), "nodes")) node(each, graph, to, values, depth);
  for (Value* result : values_of(member(json, "results"), values)) graph.add_result(to, result);
}

void GraphReader::node(const Json& json, Graph& graph, Block* to, std::vector<Value*>& values, int depth) const {
  if (list(json, "a node").size() != kNodeParts) malformed("a node is not what it should be");
  const int64_t what = integer(json[0], "an operator"), source = integer(json[3], "a source");
  if (what < 0 || what >= static_cast<int64_t>(operators_.size())) malformed("there is no operator of a node");
  if (source < 0 || source >= static_cast<int64_t>(sources_.size())) malformed("there is no source of a node");
  const auto [opcode, op] = operators_[static_cast<size_t>(what)];
  auto inputs = values_of(json[1], values);
  Node* made = op ? graph.create(op, std::move(inputs)) : graph.create(opcode, std::move(inputs));
  made->source = sources_[static_cast<size_t>(source)];
  attribute(json[4], made);
  graph.append(to, made);
  for (const Json& inner : list(json[5], "blocks")) block(inner, graph, graph.add_block(made), values, depth + 1);
  for_each_definition(json[2], [&](const Json& type, const std::string& name) {
    values.push_back(graph.add_output(made, types_[type], name));
  });
}

void GraphReader::attribute(const Json& json, Node* node) const {
  switch (node->opcode) {
    case Opcode::kConstant:
      node->constant = values_.read(json);
      break;
    case Opcode::kGetAttr:
    case Opcode::kSetAttr:
    case Opcode::kCallMethod:
      node->name = text(json, "a name");
      break;
    case Opcode::kLoadState:
    case Opcode::kStoreState:
      node->index = integer(json, "a slot of state");
      if (node->index < 0 || node->index >= static_cast<int64_t>(slots_))
        malformed("there is no slot of state " + json.dump());
      break;
    case Opcode::kIsInstance:
      for (const Json& type : list(json, "types")) node->types.push_back(types_[type]);
      break;
    default:
      break;
  }
}

}  // namespace stator::planned
