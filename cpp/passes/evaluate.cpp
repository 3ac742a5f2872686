#include "passes/evaluate.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "graph/match.h"

namespace stator {
namespace {

constexpr int64_t kLargestGrowth = int64_t{16} << 20;  // bytes

class Silent final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// Calls f(tensor) for every tensor inside. False if something is no constant of ours.
template <class F>
bool each_tensor(const c10::IValue& value, F&& f) {
  if (value.isTensor()) return f(value.toTensor());
  if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (!each_tensor(element, f)) return false;
    }
    return true;
  }
  if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (!each_tensor(element, f)) return false;
    }
    return true;
  }
  return value.isNone() || value.isBool() || value.isInt() || value.isDouble() || value.isComplexDouble() ||
         value.isString() || value.isDevice();
}

class Storages {
 public:
  bool add(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu()) return false;
    if (seen_.insert(tensor.storage().unsafeGetStorageImpl()).second)
      bytes_ += static_cast<int64_t>(tensor.storage().nbytes());
    return true;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::unordered_set<const void*> seen_;
  int64_t bytes_ = 0;
};

// The arguments that say how much a factory shall make, besides lists of sizes.
constexpr std::array<std::string_view, 8> kExtents{"start", "end", "steps", "n", "m", "row", "col", "window_length"};

// How many elements the arguments may ask for: no tensor is made only to find it too large.
double elements_asked_for(const Node& node, bool has_tensors) {
  if (node.opcode != Opcode::kOperator) return 0;
  const auto makes_objects = [](const Value* v) {
    return v->is_tensor() || v->type->kind() == c10::TypeKind::ListType;
  };
  if (std::none_of(node.outputs.begin(), node.outputs.end(), makes_objects)) return 0;
  double most = 1, extents = 1;
  const auto& arguments = node.op->schema.arguments();
  for (size_t i = 0; i < node.inputs.size() && i < arguments.size(); ++i) {
    const c10::IValue& value = *constant_of(node.input(i));
    if (value.isIntList()) {
      double product = 1;
      for (int64_t size : value.toIntVector()) product *= static_cast<double>(std::max<int64_t>(size, 1));
      most = std::max(most, product);
    } else if (!has_tensors && std::find(kExtents.begin(), kExtents.end(), arguments[i].name()) != kExtents.end()) {
      double number = value.isInt() ? static_cast<double>(value.toInt()) : value.isDouble() ? value.toDouble() : 1;
      extents *= std::max(std::abs(number), 1.0);
    }
  }
  return std::max(most, extents);
}

struct NotFoldable : std::runtime_error {
  NotFoldable() : std::runtime_error("not foldable") {}
};

void require(bool condition) {
  if (!condition) throw NotFoldable();
}

c10::IValue list_of(const c10::TypePtr& element, const std::vector<c10::IValue>& values) {
  c10::impl::GenericList list(element);
  list.reserve(values.size());
  for (const c10::IValue& value : values) {
    require(value.type()->isSubtypeOf(*element));
    list.push_back(value);
  }
  return c10::IValue(std::move(list));
}

std::vector<c10::IValue> take_apart(const c10::IValue& container, size_t count) {
  std::vector<c10::IValue> out =
      container.isTuple() ? container.toTupleRef().elements().vec() : container.toListRef().vec();
  require(out.size() == count);
  return out;
}

c10::IValue tuple_of(const c10::TypePtr& type, std::vector<c10::IValue> values) {
  auto tuple = type->cast<c10::TupleType>();
  if (tuple && tuple->schema()) return c10::ivalue::Tuple::createNamed(std::move(values), tuple);
  return c10::ivalue::Tuple::create(std::move(values));
}

c10::IValue tuple_element(const c10::IValue& tuple, int64_t index) {
  const auto& elements = tuple.toTupleRef().elements();
  auto count = static_cast<int64_t>(elements.size());
  if (index < 0) index += count;
  require(index >= 0 && index < count);
  return elements[index];
}

std::vector<at::Tensor> tensors(const std::vector<c10::IValue>& inputs) {
  std::vector<at::Tensor> out;
  for (size_t i = 0; i + 1 < inputs.size(); ++i) out.push_back(inputs[i].toTensor());
  return out;
}

bool is_instance(const Node& node, const c10::IValue& value) {
  const auto type = value.type();
  return std::any_of(node.types.begin(), node.types.end(),
                     [&](const c10::TypePtr& t) { return type->isSubtypeOf(*t); });
}

std::vector<c10::IValue> call(const Node& node, std::vector<c10::IValue> inputs) {
  switch (node.opcode) {
    case Opcode::kOperator:
      if (node.op->schema.is_vararg()) inputs.emplace_back(static_cast<int64_t>(inputs.size()));
      node.op->boxed(inputs);
      return inputs;
    case Opcode::kListConstruct:
      return {list_of(node.output()->type->expectRef<c10::ListType>().getElementType(), inputs)};
    case Opcode::kTupleConstruct:
      return {tuple_of(node.output()->type, std::move(inputs))};
    case Opcode::kListUnpack:
    case Opcode::kTupleUnpack:
      return take_apart(inputs[0], node.outputs.size());
    case Opcode::kTupleIndex:
      return {tuple_element(inputs[0], inputs[1].toInt())};
    case Opcode::kIsInstance:
      return {is_instance(node, inputs[0])};
    case Opcode::kVarCat:
      return {at::cat(tensors(inputs), inputs.back().toInt())};
    case Opcode::kVarStack:
      return {at::stack(tensors(inputs), inputs.back().toInt())};
    default:
      throw NotFoldable();
  }
}

}  // namespace

std::optional<std::vector<c10::IValue>> evaluate(const Node& node) {
  if (node.opcode == Opcode::kDictConstruct) return std::nullopt;
  std::vector<c10::IValue> inputs;
  Storages storages;
  bool has_tensors = false;
  int64_t element_size = 8;
  for (const Value* input : node.inputs) {
    const c10::IValue* constant = constant_of(input);
    if (!constant) return std::nullopt;
    bool plain = each_tensor(*constant, [&](const at::Tensor& tensor) {
      if (!storages.add(tensor)) return false;
      if (!has_tensors) element_size = tensor.element_size();
      has_tensors = true;
      return true;
    });
    if (!plain) return std::nullopt;
    inputs.push_back(*constant);
  }
  const int64_t allowed = storages.bytes() + kLargestGrowth;
  if (elements_asked_for(node, has_tensors) * static_cast<double>(element_size) > static_cast<double>(allowed))
    return std::nullopt;

  try {
    c10::InferenceMode inference;
    Silent silent;
    c10::WarningUtils::WarningHandlerGuard guard(&silent);
    std::vector<c10::IValue> results = call(node, std::move(inputs));
    if (results.size() != node.outputs.size()) return std::nullopt;
    for (const c10::IValue& result : results) {
      if (!each_tensor(result, [&](const at::Tensor& tensor) { return storages.add(tensor); })) return std::nullopt;
    }
    if (storages.bytes() > allowed) return std::nullopt;
    return results;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace stator
