// What an exported program expects of its inputs: it was recorded for these dtypes and sizes, and computes something else for others.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/size_expression.h"

namespace stator {

struct SizeRange {
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
};

// A tensor, a number or anything else that stands in a parameter, at the end of a way through its containers.
struct InputLeaf {
  size_t parameter = 0;
  std::vector<c10::IValue> path;  // ints for lists and tuples, keys for dicts

  std::optional<at::ScalarType> dtype;   // of a tensor
  std::vector<SizeExpression> sizes;     // of a tensor
  std::optional<SizeExpression> number;  // an int that the program calls by this symbol
  std::optional<c10::IValue> constant;   // the program was recorded for this value only
};

// A container among the inputs has exactly these elements.
struct InputContainer {
  size_t parameter = 0;
  std::vector<c10::IValue> path;
  bool dict = false;              // else a list or tuple
  std::vector<c10::IValue> keys;  // of a dict
  size_t count = 0;
};

// What has to hold between sizes for the program to be the model: it was recorded along the branches that they chose.
struct SizeCondition {
  enum class Comparison : uint8_t { kEqual, kUnequal, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  Comparison comparison = Comparison::kEqual;
  SizeExpression left;
  SizeExpression right;
  std::string text;  // x.size()[0] > 3
};

struct InputContract {
  std::vector<InputContainer> containers;  // outer ones first
  std::vector<InputLeaf> leaves;
  std::map<std::string, SizeRange> ranges;  // by symbol
  std::vector<SizeCondition> conditions;

  bool empty() const { return leaves.empty() && containers.empty(); }
};

}  // namespace stator
