#include "runtime/results.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/List.h>
#include <ATen/ops/copy.h>

#include <unordered_map>

#include "graph/error.h"

namespace stator {
namespace {

class Keeper {
 public:
  Keeper(const MemoryBlock& workspace, ArenaContents& arena) : workspace_(workspace), arena_(arena) {}

  void count(const c10::IValue& value) {
    if (value.isTensor()) {
      if (value.toTensor().defined() && value.toTensor().has_storage() && seen_.insert(value.toTensor().unsafeGetTensorImpl()).second) {
        ++sharers_[value.toTensor().storage().unsafeGetStorageImpl()];
      }
    } else if (value.isTuple()) {
      for (const auto& element : value.toTupleRef().elements()) count(element);
    } else if (value.isList()) {
      for (const auto& element : value.toListRef()) count(element);
    } else if (value.isGenericDict()) {
      for (const auto& pair : value.toGenericDict()) count(pair.value());
    }
  }

  c10::IValue keep(const c10::IValue& value) {
    if (value.isTensor()) return keep_tensor(value.toTensor());
    if (value.isTuple()) return keep_tuple(value);
    if (value.isList()) {
      auto list = value.toList();
      c10::impl::GenericList out(list.elementType());
      for (size_t i = 0; i < list.size(); ++i) out.push_back(keep(list.get(i)));
      return out;
    }
    if (value.isGenericDict()) {
      auto dict = value.toGenericDict();
      c10::impl::GenericDict out(dict.keyType(), dict.valueType());
      for (const auto& pair : dict) out.insert(pair.key(), keep(pair.value()));
      return out;
    }
    return value;
  }

 private:
  c10::IValue keep_tuple(const c10::IValue& value) {
    const auto& tuple = value.toTupleRef();
    std::vector<c10::IValue> elements;
    elements.reserve(tuple.elements().size());
    for (const auto& element : tuple.elements()) elements.push_back(keep(element));
    auto type = tuple.type();
    if (type->schema()) return c10::ivalue::Tuple::createNamed(std::move(elements), type);
    return c10::ivalue::Tuple::create(std::move(elements));
  }

  at::Tensor keep_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    auto [it, added] = kept_.try_emplace(tensor.unsafeGetTensorImpl());
    if (added) {
      it->second = own(tensor);
      arena_.outputs.push_back(it->second);
    } else {
      arena_.outputs.push_back(it->second);
    }
    return it->second;
  }

  at::Tensor own(const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided || tensor.is_quantized() || !tensor.device().is_cpu()) {
      throw Error(ErrorCode::kUnsupported, std::string("the method returns a tensor that is ") + (tensor.is_quantized() ? "quantized" : "not strided") +
                                               "; only strided tensors can leave a model, convert it with to_dense() or dequantize()");
    }
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    bool lazy = tensor.is_conj() || tensor.is_neg();
    bool only_result = tensor.storage().use_count() == static_cast<size_t>(sharers_[storage]);
    bool first = taken_.insert(storage).second;
    if (only_result && first && !lazy && !in_workspace(storage->data())) return tensor;
    at::Tensor copy = at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type());
    copy.copy_(tensor);
    return copy;
  }

  bool in_workspace(const void* data) const {
    const auto* bytes = static_cast<const std::byte*>(data);
    return bytes >= workspace_.data() && bytes < workspace_.data() + workspace_.bytes();
  }

  const MemoryBlock& workspace_;
  ArenaContents& arena_;
  std::unordered_map<const c10::StorageImpl*, int> sharers_;  // tensors of the result in a storage
  std::unordered_set<const c10::TensorImpl*> seen_;
  std::unordered_set<const c10::StorageImpl*> taken_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> kept_;
};

}  // namespace

void keep_result(c10::IValue result, const MemoryBlock& workspace, ArenaContents& arena) {
  if (result.isTensor() && result.toTensor().defined()) {
    // The common case: one tensor in the arena's own memory.
    const at::Tensor& tensor = result.toTensor();
    for (const PlannedBuffer& buffer : arena.buffers) {
      if (buffer.tensor.defined() && buffer.tensor.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl() && tensor.storage().use_count() == 1 &&
          !tensor.is_conj() && !tensor.is_neg()) {
        arena.outputs.push_back(tensor);
        arena.result = std::move(result);
        return;
      }
    }
  }
  Keeper keeper(workspace, arena);
  keeper.count(result);
  arena.result = keeper.keep(result);
}

}  // namespace stator
