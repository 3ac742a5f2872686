#include "runtime/input_check.h"

#include <algorithm>
#include <cmath>

#include "graph/dtype.h"
#include "graph/error.h"
#include "graph/printer.h"
#include "values/conform.h"
#include "values/tensor_mismatch.h"

namespace stator {
namespace {

constexpr size_t kLongestValue = 60;  // characters of a value in a message

c10::IValue at_path(const c10::IValue& value, const std::vector<c10::IValue>& path) {
  c10::IValue out = value;
  for (const c10::IValue& step : path) {
    if (out.isGenericDict()) {
      out = out.toGenericDict().at(step);
    } else if (out.isTuple()) {
      out = out.toTupleRef().elements()[static_cast<size_t>(step.toInt())];
    } else {
      out = out.toList().get(static_cast<size_t>(step.toInt()));
    }
  }
  return out;
}

std::string key_text(const c10::IValue& key) {
  return key.isString() ? "\"" + key.toStringRef() + "\"" : print(key, kLongestValue);
}

std::string expected_tensor(const InputLeaf& leaf) {
  std::string out = dtype_name(*leaf.dtype);
  out += "[";
  for (size_t i = 0; i < leaf.sizes.size(); ++i) out += (i ? ", " : "") + leaf.sizes[i].str();
  return out + "]";
}

[[noreturn]] void mismatch(ErrorCode code, const std::string& place, const std::string& why) {
  throw Error(code, place + ": " + why, {"", "", "", place});
}

bool same_constant(const c10::IValue& value, const c10::IValue& wanted) {
  if (wanted.isNone() || value.isNone()) return wanted.isNone() && value.isNone();
  if (wanted.isDouble() && value.isDouble() && std::isnan(wanted.toDouble())) return std::isnan(value.toDouble());
  return value.tagKind() == wanted.tagKind() && value == wanted;
}

bool holds(SizeCondition::Comparison comparison, int64_t left, int64_t right) {
  using Comparison = SizeCondition::Comparison;
  switch (comparison) {
    case Comparison::kEqual:
      return left == right;
    case Comparison::kUnequal:
      return left != right;
    case Comparison::kLess:
      return left < right;
    case Comparison::kLessOrEqual:
      return left <= right;
    case Comparison::kGreater:
      return left > right;
    case Comparison::kGreaterOrEqual:
      return left >= right;
  }
  return false;
}

}  // namespace

InputCheck::InputCheck(InputContract contract, const std::vector<Parameter>& parameters)
    : contract_(std::move(contract)) {
  for (const Parameter& parameter : parameters) names_.push_back(parameter.name);
  for (size_t i = 0; i < contract_.leaves.size(); ++i) {
    const InputLeaf& leaf = contract_.leaves[i];
    if (leaf.number) add_named(i, -1, *leaf.number);
    for (size_t d = 0; d < leaf.sizes.size(); ++d) add_named(i, static_cast<int64_t>(d), leaf.sizes[d]);
  }
}

void InputCheck::add_named(size_t leaf, int64_t dimension, const SizeExpression& expression) {
  if (expression.is_number()) return;
  if (!expression.is_symbol()) {
    computed_.push_back({leaf, dimension, &expression, 0});
    return;
  }
  auto known = std::find_if(symbols_.begin(), symbols_.end(),
                            [&](const Range& range) { return range.symbol == expression.symbol; });
  if (known == symbols_.end()) {
    auto range = contract_.ranges.find(expression.symbol);
    symbols_.push_back({expression.symbol, range == contract_.ranges.end() ? SizeRange{} : range->second});
    known = std::prev(symbols_.end());
  }
  plain_.push_back({leaf, dimension, &expression, static_cast<size_t>(known - symbols_.begin())});
}

const InputLeaf* InputCheck::tensor(size_t parameter) const {
  for (const InputLeaf& leaf : contract_.leaves) {
    if (leaf.parameter == parameter && leaf.path.empty() && leaf.dtype) return &leaf;
  }
  return nullptr;
}

// input "batch" (argument 2)["image"]
std::string InputCheck::place(size_t parameter, const std::vector<c10::IValue>& path) const {
  std::string out = input_place(names_[parameter], parameter);
  for (const c10::IValue& step : path) out += "[" + key_text(step) + "]";
  return out;
}

void InputCheck::check(size_t parameter, const c10::IValue& value) const {
  for (const InputContainer& container : contract_.containers) {
    if (container.parameter == parameter) check_container(container, at_path(value, container.path));
  }
  for (const InputLeaf& leaf : contract_.leaves) {
    if (leaf.parameter != parameter) continue;
    const c10::IValue got = at_path(value, leaf.path);
    if (leaf.constant && !same_constant(got, *leaf.constant)) {
      mismatch(ErrorCode::kInvalidArgument, place(parameter, leaf.path),
               "expected " + print(*leaf.constant, kLongestValue) + ", got " + print(got, kLongestValue) +
                   "; the program was exported for this value only");
    }
    if (leaf.dtype) check_tensor(leaf, got);
  }
}

void InputCheck::check_container(const InputContainer& container, const c10::IValue& got) const {
  const auto fail = [&](const std::string& why) {
    mismatch(ErrorCode::kTypeMismatch, place(container.parameter, container.path), why);
  };
  const bool sequence = got.isTuple() || got.isList();
  if (container.dict ? !got.isGenericDict() : !sequence)
    fail(std::string("expected a ") + (container.dict ? "dict" : "list or tuple") + ", got " + describe_kind(got));
  if (sequence) {
    const size_t count = got.isTuple() ? got.toTupleRef().elements().size() : got.toList().size();
    if (count != container.count)
      fail("expected " + std::to_string(container.count) + " elements, got " + std::to_string(count));
    return;
  }
  const auto dict = got.toGenericDict();
  const bool complete = std::all_of(container.keys.begin(), container.keys.end(),
                                    [&](const c10::IValue& key) { return dict.contains(key); });
  if (complete && dict.size() == container.keys.size()) return;
  std::string keys;
  std::string got_keys;
  for (const c10::IValue& key : container.keys) keys += (keys.empty() ? "" : ", ") + key_text(key);
  for (const auto& pair : dict) got_keys += (got_keys.empty() ? "" : ", ") + key_text(pair.key());
  fail("expected a dict with the keys " + keys + ", got " + got_keys);
}

void InputCheck::check_tensor(const InputLeaf& leaf, const c10::IValue& value) const {
  const auto fail = [&](ErrorCode code, const std::string& got) {
    mismatch(code, place(leaf.parameter, leaf.path), "expected " + expected_tensor(leaf) + ", got " + got);
  };
  if (!value.isTensor() || !value.toTensor().defined()) fail(ErrorCode::kTypeMismatch, describe_kind(value));
  const at::Tensor& tensor = value.toTensor();
  at::DimVector sizes;
  for (const SizeExpression& size : leaf.sizes) sizes.push_back(size.is_number() ? size.number : -1);
  if (const auto different = tensor_mismatch(tensor, leaf.dtype, sizes))
    fail(different->code, describe_tensor(tensor) + "; " + different->why);
}

int64_t InputCheck::size_of(const Named& named, const std::vector<const c10::IValue*>& inputs) const {
  const InputLeaf& leaf = contract_.leaves[named.leaf];
  const c10::IValue& input = *inputs[leaf.parameter];
  if (leaf.path.empty()) return named.dimension < 0 ? input.toInt() : input.toTensor().size(named.dimension);
  const c10::IValue value = at_path(input, leaf.path);
  return named.dimension < 0 ? value.toInt() : value.toTensor().size(named.dimension);
}

void InputCheck::refuse(const Named& named, const std::vector<const c10::IValue*>& inputs,
                        const std::string& expected) const {
  const InputLeaf& leaf = contract_.leaves[named.leaf];
  std::string what = "the value";
  if (named.dimension >= 0) what = "dimension " + std::to_string(named.dimension);
  std::string text = what + " is " + std::to_string(size_of(named, inputs)) + ", expected " + expected;
  if (named.dimension >= 0) {
    const c10::IValue tensor = at_path(*inputs[leaf.parameter], leaf.path);
    text = "expected " + expected_tensor(leaf) + ", got " + describe_tensor(tensor.toTensor()) + "; " + text;
  }
  mismatch(ErrorCode::kShapeMismatch, place(leaf.parameter, leaf.path), text);
}

void InputCheck::check_together(const std::vector<const c10::IValue*>& inputs, std::vector<int64_t>& accepted) const {
  if (plain_.empty() && computed_.empty()) return;
  c10::SmallVector<int64_t, 16> sizes;
  for (const auto* group : {&plain_, &computed_}) {
    for (const Named& named : *group) sizes.push_back(size_of(named, inputs));
  }
  if (std::equal(sizes.begin(), sizes.end(), accepted.begin(), accepted.end())) return;
  Symbols symbols = check_plain(inputs);
  check_computed(inputs, symbols);
  check_conditions(symbols);
  accepted.assign(sizes.begin(), sizes.end());
}

Symbols InputCheck::check_plain(const std::vector<const c10::IValue*>& inputs) const {
  Symbols symbols;
  for (const Named& named : plain_) {
    const int64_t size = size_of(named, inputs);
    const auto& [symbol, range] = symbols_[named.symbol];
    if (size < range.least) refuse(named, inputs, "at least " + std::to_string(range.least));
    if (size > range.most) refuse(named, inputs, "at most " + std::to_string(range.most));
    const auto [known, added] = symbols.try_emplace(symbol, size);
    if (known->second == size) continue;
    const auto first =
        std::find_if(plain_.begin(), plain_.end(), [&](const Named& other) { return other.symbol == named.symbol; });
    const InputLeaf& leaf = contract_.leaves[first->leaf];
    refuse(named, inputs,
           std::to_string(known->second) + " as " +
               (first->dimension < 0 ? "" : "dimension " + std::to_string(first->dimension) + " of ") +
               place(leaf.parameter, leaf.path));
  }
  return symbols;
}

void InputCheck::check_conditions(const Symbols& symbols) const {
  for (const SizeCondition& condition : contract_.conditions) {
    if (!knows_all(symbols, condition.left) || !knows_all(symbols, condition.right)) continue;
    const auto left = evaluate(condition.left, symbols), right = evaluate(condition.right, symbols);
    if (left && right && holds(condition.comparison, *left, *right)) continue;
    throw Error(
        ErrorCode::kShapeMismatch,
        "the program was exported for inputs with " + condition.text +
            (left && right ? ", got " + std::to_string(*left) + " and " + std::to_string(*right) : std::string()));
  }
}

void InputCheck::check_computed(const std::vector<const c10::IValue*>& inputs, Symbols& symbols) const {
  for (const Named& named : computed_) {
    const int64_t size = size_of(named, inputs);
    if (const auto wanted = evaluate(*named.expression, symbols)) {
      if (*wanted != size) refuse(named, inputs, named.expression->str() + " = " + std::to_string(*wanted));
      continue;
    }
    const auto solution = solve(*named.expression, symbols, size);
    if (!solution) continue;
    if (!solution->value) refuse(named, inputs, named.expression->str() + " with a whole number");
    auto range = contract_.ranges.find(solution->symbol);
    const SizeRange allowed = range == contract_.ranges.end() ? SizeRange{} : range->second;
    if (*solution->value < allowed.least || *solution->value > allowed.most)
      refuse(named, inputs,
             named.expression->str() + " with " + solution->symbol + " from " + std::to_string(allowed.least) + " to " +
                 std::to_string(allowed.most));
    symbols.emplace(solution->symbol, *solution->value);
  }
}

}  // namespace stator
