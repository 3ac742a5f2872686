#include "runtime/lent_inputs.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/InferenceMode.h>

#include <cstring>
#include <unordered_map>

#include "graph/log.h"

namespace stator {
namespace {

using Storages = std::unordered_set<const c10::StorageImpl*>;

const c10::StorageImpl* storage_of(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) return nullptr;
  return value.toTensor().storage().unsafeGetStorageImpl();
}

// Puts copies in the place of tensors on lent storages. Containers and objects stay what they are, because others may hold them too.
class Detacher {
 public:
  explicit Detacher(const Storages& lent) : lent_(lent) {}

  c10::IValue detached(const c10::IValue& value) {
    if (value.isTensor()) return lent_.count(storage_of(value)) ? copy(value.toTensor()) : value;
    if (value.isTuple()) return tuple(value);
    if (!value.isPtrType() || !seen_.insert(value.internalToPointer()).second) return value;
    if (value.isList()) {
      auto list = value.toList();
      if (!may_hold_tensors(list.elementType())) return value;
      for (size_t i = 0; i < list.size(); ++i) list.set(i, detached(list.get(i)));
    } else if (value.isGenericDict()) {
      auto dict = value.toGenericDict();
      for (const auto& pair : dict) pair.setValue(detached(pair.value()));
    } else if (value.isObject()) {
      const auto object = value.toObject();
      for (size_t i = 0; i < object->slots().size(); ++i) object->setSlot(i, detached(object->getSlot(i)));
    }
    return value;
  }

 private:
  static bool may_hold_tensors(const c10::TypePtr& type) {
    switch (type->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::FloatType:
      case c10::TypeKind::BoolType:
      case c10::TypeKind::StringType:
        return false;
      default:
        return true;
    }
  }

  c10::IValue tuple(const c10::IValue& value) {
    std::vector<c10::IValue> elements;
    bool changed = false;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      elements.push_back(detached(element));
      changed |= element.isTensor() ? storage_of(element) != storage_of(elements.back()) : element.isTuple();
    }
    if (!changed) return value;
    auto type = value.toTupleRef().type();
    if (type->schema()) return c10::ivalue::Tuple::createNamed(std::move(elements), type);
    return c10::ivalue::Tuple::create(std::move(elements));
  }

  // Views of one input stay views of one memory, and one tensor stays one.
  const at::Tensor& copy(const at::Tensor& tensor) {
    auto [place, added] = tensors_.try_emplace(tensor.unsafeGetTensorImpl());
    if (!added) return place->second;
    const c10::Storage& lent = tensor.storage();
    auto [storage, first] = storages_.try_emplace(lent.unsafeGetStorageImpl());
    if (first) {
      auto bytes = static_cast<int64_t>(lent.nbytes());
      storage->second = at::detail::empty_cpu({bytes}, at::kByte).storage();
      if (bytes > 0) std::memcpy(storage->second.mutable_data(), lent.data(), lent.nbytes());
    }
    place->second = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage->second), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
    place->second.unsafeGetTensorImpl()->set_storage_offset(tensor.storage_offset());
    place->second.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
    return place->second;
  }

  const Storages& lent_;
  std::unordered_map<const c10::StorageImpl*, c10::Storage> storages_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> tensors_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

LentInputs::LentInputs(const Frame& frame, State& state) : state_(state) {
  if (!frame.plan().state_may_keep_inputs) return;
  for (const c10::IValue& input : frame.inputs()) {
    input.visit([this](const c10::IValue& inner) {
      if (const c10::StorageImpl* storage = storage_of(inner)) storages_.insert(storage);
      return false;
    });
  }
}

LentInputs::~LentInputs() {
  if (storages_.empty()) return;
  c10::InferenceMode inference;
  Detacher detacher(storages_);
  for (c10::IValue& slot : state_.slots) {
    try {
      slot = detacher.detached(slot);
    } catch (const std::exception& error) {
      slot = c10::IValue();  // better none than memory that is no longer there
      log(LogLevel::kError, std::string("state was lost, there was no memory to keep it in: ") + error.what());
    }
  }
}

}  // namespace stator
