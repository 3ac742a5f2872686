// The one place outside frontend/torchscript that looks into torch/csrc/jit: about 770 operators (lists, dicts, strings, scalars) are
// registered only there, and both front ends need them.
#include "graph/operator.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <mutex>
#include <unordered_map>

namespace stator {
namespace {

std::unique_ptr<Operator> from_dispatcher(const c10::OperatorName& name) {
  auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) return nullptr;
  auto op = std::make_unique<Operator>(Operator{name.name, name.overload_name, {}, handle->schema(), handle, {}});
  op->boxed = [h = *handle](torch::jit::Stack& stack) { h.callBoxed(stack); };
  return op;
}

std::unique_ptr<Operator> from_torchscript(const c10::OperatorName& name) {
  for (const auto& candidate : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name.name))) {
    const auto& schema = candidate->schema();
    if (schema.overload_name() != name.overload_name) continue;
    auto op = std::make_unique<Operator>(Operator{name.name, name.overload_name, {}, schema, std::nullopt, {}});
    // Of those that take any number of arguments only the ones that are not made for a node expect the number on the stack.
    bool drops_count = schema.is_vararg() && !candidate->hasOperation();
    op->boxed = [operation = candidate->getOperation(), drops_count](torch::jit::Stack& stack) mutable {
      if (drops_count) stack.pop_back();
      operation(stack);
    };
    return op;
  }
  return nullptr;
}

}  // namespace

const Operator* find_operator(std::string_view name, std::string_view overload) {
  static std::mutex mutex;
  // Leaked on purpose: operators are named by pointers that may outlive static destruction.
  static auto& interned = *new std::unordered_map<std::string, std::unique_ptr<Operator>>;

  std::string key(name);
  if (!overload.empty()) key.append(".").append(overload);
  std::lock_guard lock(mutex);
  auto found = interned.find(key);
  if (found != interned.end()) return found->second.get();
  c10::OperatorName qualified{std::string(name), std::string(overload)};
  auto op = from_dispatcher(qualified);
  if (!op) op = from_torchscript(qualified);
  if (!op) return nullptr;  // not remembered: a library loaded later may bring it
  op->key = key;
  return interned.emplace(std::move(key), std::move(op)).first->second.get();
}

const Operator* find_operator(std::string_view key) {
  // The overload is what follows the first dot after the namespace: "aten::add.Tensor".
  auto colons = key.find("::");
  auto dot = key.find('.', colons == std::string_view::npos ? 0 : colons);
  if (dot == std::string_view::npos) return find_operator(key, "");
  return find_operator(key.substr(0, dot), key.substr(dot + 1));
}

}  // namespace stator
