#include "values/deep_copy.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>

#include <cstring>
#include <unordered_map>

namespace stator {
namespace {

c10::Storage copy_storage(const c10::Storage& storage) {
  c10::Storage copy(c10::Storage::use_byte_size_t(), storage.nbytes(), c10::GetCPUAllocator(), /*resizable=*/true);
  if (storage.nbytes() > 0 && storage.data()) std::memcpy(copy.mutable_data(), storage.data(), storage.nbytes());
  return copy;
}

bool plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.layout() == at::kStrided && tensor.device().is_cpu() &&
         !tensor.is_quantized() && !tensor.is_conj() && !tensor.is_neg();
}

}  // namespace

std::vector<c10::IValue> deep_copy(const std::vector<c10::IValue>& values) {
  c10::InferenceMode inference;
  // IValue::deepcopy() copies tensor by tensor, and would part views of one memory: those are copied here and handed to it as done.
  c10::IValue::HashIdentityIValueMap done;
  std::unordered_map<const c10::StorageImpl*, c10::Storage> storages;
  for (const c10::IValue& value : values) {
    value.visit([&](const c10::IValue& inner) {
      if (!inner.isTensor() || !plain(inner.toTensor()) || done.count(inner)) return false;
      const at::Tensor& tensor = inner.toTensor();
      auto [it, added] = storages.try_emplace(tensor.storage().unsafeGetStorageImpl());
      if (added) it->second = copy_storage(tensor.storage());
      auto copy = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(it->second),
                                                           c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
      copy.unsafeGetTensorImpl()->set_storage_offset(tensor.storage_offset());
      copy.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
      done.emplace(inner, std::move(copy));
      return false;
    });
  }
  std::vector<c10::IValue> out;
  out.reserve(values.size());
  for (const c10::IValue& value : values) out.push_back(value.deepcopy(done));
  return out;
}

c10::IValue deep_copy(const c10::IValue& value) { return deep_copy(std::vector<c10::IValue>{value})[0]; }

}  // namespace stator
