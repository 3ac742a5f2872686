#include "ops/fallback.h"

#include <utility>

#include "ops/stack.h"

namespace stator {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool shares_storage(const c10::IValue& argument, const at::Tensor& tensor) {
  const c10::StorageImpl* storage = storage_of(tensor);
  if (!storage) return false;
  if (argument.isTensor()) return storage_of(argument.toTensor()) == storage;
  if (!argument.isList()) return false;
  for (const c10::IValue& element : argument.toListRef()) {
    if (element.isTensor() && storage_of(element.toTensor()) == storage) return true;
  }
  return false;
}

at::Tensor unshared(const Call& call, const at::Tensor& result) {
  for (int i = 0; i < call.input_count(); ++i) {
    if (shares_storage(call.in(i), result)) return result.clone();
  }
  return result;
}

void run_fallback(const Call& call) { run_boxed(call); }

}  // namespace

void unshare(const Call& call, c10::IValue& result) {
  if (result.isTensor()) {
    at::Tensor kept = unshared(call, result.toTensor());
    if (!kept.is_same(result.toTensor())) result = std::move(kept);
  } else if (result.isTensorList()) {
    c10::List<at::Tensor> list = result.toTensorList();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, unshared(call, list.get(i)));
  }
}

void run_boxed(const Operator& op, const Call& call) {
  BorrowedStack borrowed;
  torch::jit::Stack& stack = *borrowed;
  for (int i = 0; i < call.input_count(); ++i) stack.push_back(call.in(i));
  if (op.schema.is_vararg()) stack.emplace_back(static_cast<int64_t>(call.input_count()));
  if (op.handle) {
    op.handle->callBoxed(stack);
  } else {
    op.boxed(stack);
  }
  // TorchScript's own copies of containers share the elements, and do not say so. A schema inferred from a C++ function says nothing.
  const bool promises = op.in_dispatcher() && op.schema.aliasAnalysis() != c10::AliasAnalysisKind::CONSERVATIVE;
  const auto& returns = op.schema.returns();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (promises && i < returns.size() && !returns[i].alias_info()) unshare(call, stack[i]);
    call.out(static_cast<int>(i)) = std::move(stack[i]);
  }
}

Implementation fallback(const Node& node) {
  return {.run = run_fallback,
          .data = std::shared_ptr<const void>(std::shared_ptr<void>(), node.op),
          .kind = ImplKind::kFallback};
}

}  // namespace stator
