#include "frontend/planned/contract.h"

#include <array>
#include <utility>

#include "graph/dtype.h"

namespace stator::planned {
namespace {

using namespace json;
using Kind = SizeExpression::Kind;
using Comparison = SizeCondition::Comparison;

constexpr int kDeepestSize = 200;

constexpr std::array<std::pair<Kind, const char*>, 7> kExpressions{{{Kind::kSum, "sum"},
                                                                    {Kind::kProduct, "product"},
                                                                    {Kind::kPower, "power"},
                                                                    {Kind::kFloorQuotient, "quotient"},
                                                                    {Kind::kRemainder, "remainder"},
                                                                    {Kind::kLeast, "least"},
                                                                    {Kind::kGreatest, "greatest"}}};

constexpr std::array<std::pair<Comparison, const char*>, 6> kComparisons{{{Comparison::kEqual, "=="},
                                                                          {Comparison::kUnequal, "!="},
                                                                          {Comparison::kLess, "<"},
                                                                          {Comparison::kLessOrEqual, "<="},
                                                                          {Comparison::kGreater, ">"},
                                                                          {Comparison::kGreaterOrEqual, ">="}}};

template <class Table, class Key>
const char* name_in(const Table& table, Key key) {
  for (const auto& [each, name] : table) {
    if (each == key) return name;
  }
  return "";
}

template <class Table>
auto key_in(const Table& table, const std::string& wanted) {
  for (const auto& [key, name] : table) {
    if (wanted == name) return key;
  }
  malformed("there is no \"" + wanted + "\" of sizes");
}

// A number, a symbol, or ["sum", operand, operand, ...].
Json write_size(const SizeExpression& size) {
  if (size.is_number()) return size.number;
  if (size.is_symbol()) return size.symbol;
  Json out{name_in(kExpressions, size.kind)};
  for (const SizeExpression& operand : size.operands) out.push_back(write_size(operand));
  return out;
}

SizeExpression read_size(const Json& json, int depth = 0) {
  if (depth > kDeepestSize) malformed("a size is an expression too deep");
  if (json.is_number()) return {Kind::kNumber, integer(json, "a size"), {}, {}};
  if (json.is_string()) return {Kind::kSymbol, 0, json.get<std::string>(), {}};
  if (list(json, "a size").empty()) malformed("a size is empty");
  SizeExpression out{key_in(kExpressions, text(json[0], "a size")), 0, {}, {}};
  for (size_t i = 1; i < json.size(); ++i) out.operands.push_back(read_size(json[i], depth + 1));
  const bool two = out.kind == Kind::kPower || out.kind == Kind::kFloorQuotient || out.kind == Kind::kRemainder;
  if (out.operands.empty() || (two && out.operands.size() != 2))
    malformed("a size has not the operands it should have");
  return out;
}

Json write_values(const std::vector<c10::IValue>& from, ValueWriter& values) {
  Json out = Json::array();
  for (const c10::IValue& value : from) out.push_back(values.write(value));
  return out;
}

std::vector<c10::IValue> read_values(const Json& json, const ValueReader& values) {
  std::vector<c10::IValue> out;
  for (const Json& value : list(json, "values")) out.push_back(values.read(value));
  return out;
}

Json write_leaf(const InputLeaf& leaf, ValueWriter& values) {
  Json out{{"parameter", leaf.parameter}, {"path", write_values(leaf.path, values)}};
  if (leaf.dtype) {
    out["dtype"] = dtype_name(*leaf.dtype);
    out["sizes"] = Json::array();
    for (const SizeExpression& size : leaf.sizes) out["sizes"].push_back(write_size(size));
  }
  if (leaf.number) out["number"] = write_size(*leaf.number);
  if (leaf.constant) out["constant"] = Json::array({values.write(*leaf.constant)});
  return out;
}

size_t read_parameter(const Json& json, size_t parameters) {
  const int64_t index = integer(member(json, "parameter"), "a parameter");
  if (index < 0 || index >= static_cast<int64_t>(parameters))
    malformed("there is no parameter " + std::to_string(index));
  return static_cast<size_t>(index);
}

InputLeaf read_leaf(const Json& json, const ValueReader& values, size_t parameters) {
  InputLeaf out;
  out.parameter = read_parameter(json, parameters);
  out.path = read_values(member(json, "path"), values);
  if (const Json* dtype = optional_member(json, "dtype")) {
    out.dtype = dtype_from_name(text(*dtype, "a dtype"));
    if (!out.dtype) malformed("there is no dtype " + dtype->dump());
    for (const Json& size : list(member(json, "sizes"), "sizes")) out.sizes.push_back(read_size(size));
  }
  if (const Json* number = optional_member(json, "number")) out.number = read_size(*number);
  if (const Json* constant = optional_member(json, "constant")) {
    if (list(*constant, "a constant").size() != 1) malformed("a constant is not one value");
    out.constant = values.read((*constant)[0]);
  }
  return out;
}

}  // namespace

Json write_contract(const InputContract& contract, ValueWriter& values) {
  Json containers = Json::array(), leaves = Json::array(), ranges = Json::array(), conditions = Json::array();
  for (const InputContainer& each : contract.containers) {
    containers.push_back({{"parameter", each.parameter},
                          {"path", write_values(each.path, values)},
                          {"dict", each.dict},
                          {"keys", write_values(each.keys, values)},
                          {"count", each.count}});
  }
  for (const InputLeaf& leaf : contract.leaves) leaves.push_back(write_leaf(leaf, values));
  for (const auto& [symbol, range] : contract.ranges) ranges.push_back({symbol, range.least, range.most});
  for (const SizeCondition& each : contract.conditions)
    conditions.push_back(
        {name_in(kComparisons, each.comparison), write_size(each.left), write_size(each.right), each.text});
  return {{"containers", containers}, {"leaves", leaves}, {"ranges", ranges}, {"conditions", conditions}};
}

InputContract read_contract(const Json& json, const ValueReader& values, size_t parameters) {
  InputContract out;
  for (const Json& each : list(member(json, "containers"), "containers")) {
    out.containers.push_back({.parameter = read_parameter(each, parameters),
                              .path = read_values(member(each, "path"), values),
                              .dict = boolean(member(each, "dict"), "a container"),
                              .keys = read_values(member(each, "keys"), values),
                              .count = static_cast<size_t>(integer(member(each, "count"), "a count"))});
  }
  for (const Json& leaf : list(member(json, "leaves"), "leaves"))
    out.leaves.push_back(read_leaf(leaf, values, parameters));
  for (const Json& range : list(member(json, "ranges"), "ranges")) {
    if (list(range, "a range").size() != 3) malformed("a range is not what it should be");
    out.ranges[text(range[0], "a symbol")] = {integer(range[1], "a range"), integer(range[2], "a range")};
  }
  for (const Json& each : list(member(json, "conditions"), "conditions")) {
    if (list(each, "a condition").size() != 4) malformed("a condition is not what it should be");
    out.conditions.push_back({key_in(kComparisons, text(each[0], "a condition")), read_size(each[1]),
                              read_size(each[2]), text(each[3], "a condition")});
  }
  return out;
}

}  // namespace stator::planned
