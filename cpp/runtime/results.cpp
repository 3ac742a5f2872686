#include "runtime/results.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/List.h>
#include <ATen/ops/copy.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "graph/error.h"
#include "values/deep_copy.h"

namespace stator {
namespace {

// The arena's, or the caller's where an output is bound: its buffer holds the tensor for the next run.
bool is_planned_output(const c10::TensorImpl* tensor, const ArenaContents& arena) {
  const auto holds = [&](const PlannedBuffer& buffer) { return buffer.tensor.unsafeGetTensorImpl() == tensor; };
  return std::any_of(arena.buffers.begin(), arena.buffers.end(), holds) ||
         std::any_of(arena.lent.begin(), arena.lent.end(), [&](const PlannedBuffer* buffer) { return holds(*buffer); });
}

std::string kind_of_memory(const at::Tensor& tensor) {
  std::ostringstream out;
  if (tensor.is_quantized()) {
    out << "quantized (" << tensor.scalar_type() << ")";
  } else if (!tensor.device().is_cpu()) {
    out << "on " << tensor.device();
  } else {
    out << "not strided (" << tensor.layout() << ")";
  }
  return out.str();
}

// What is in memory is not what the elements are.
bool is_lazy(const at::Tensor& tensor) { return tensor.is_conj() || tensor.is_neg(); }

at::Tensor copy_of(const at::Tensor& tensor) {
  at::Tensor copy = at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  // Where elements share memory (expand, unfold) they cannot be written one by one, and without gaps they need not be.
  const bool by_bytes = tensor.is_non_overlapping_and_dense() || at::has_internal_overlap(tensor) != at::MemOverlap::No;
  if (is_lazy(tensor) || !by_bytes) return copy.copy_(tensor);
  if (tensor.numel() > 0) std::memcpy(copy.data_ptr(), tensor.const_data_ptr(), copy.storage().nbytes());
  return copy;
}

class Keeper {
 public:
  Keeper(const MemoryBlock& workspace, ArenaContents& arena) : workspace_(workspace), arena_(arena) {}

  // Counts what the result itself holds, so that other holders show.
  void count(const c10::IValue& value, bool shared = false) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (!tensor.defined() || !tensor.has_storage()) return;
      if (shared) shared_.insert(tensor.unsafeGetTensorImpl());
      if (++references_[tensor.unsafeGetTensorImpl()] == 1) ++sharers_[tensor.storage().unsafeGetStorageImpl()];
      return;
    }
    // What another list, or state, or a constant holds is not the result's alone.
    shared |= value.isPtrType() && value.use_count() > 1;
    if (value.isTuple()) {
      for (const auto& element : value.toTupleRef().elements()) count(element, shared);
    } else if (value.isList()) {
      for (const auto& element : value.toListRef()) count(element, shared);
    } else if (value.isGenericDict()) {
      for (const auto& pair : value.toGenericDict()) count(pair.value(), shared);
    }
  }

  // Memory over which a tensor lies that something else than the result holds too: none of its tensors is the result's alone.
  void find_held() {
    for (const auto& [impl, references] : references_) {
      const size_t holders = c10::raw::intrusive_ptr::use_count(const_cast<c10::TensorImpl*>(impl));
      if (shared_.count(impl) || holders != references + (is_planned_output(impl, arena_) ? 1 : 0))
        held_.insert(impl->storage().unsafeGetStorageImpl());
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
    // State may hold the object, and the workspace its tensors. What C++ made cannot be copied, and has no tensors that we know of.
    if (value.isObject() && !value.isCustomClass()) return deep_copy(value);
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
      throw Error(
          ErrorCode::kUnsupported,
          "the method returns a tensor that is " + kind_of_memory(tensor) +
              "; only strided tensors on the CPU can leave a model, convert it with to_dense() or dequantize()");
    }
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    bool lazy = is_lazy(tensor);
    bool only_result = !held_.count(storage) && tensor.storage().use_count() == sharers_[storage];
    bool first = taken_.insert(storage).second;
    if (only_result && first && !lazy && !workspace_.holds(storage->data())) return tensor;
    return copy_of(tensor);
  }

  const MemoryBlock& workspace_;
  ArenaContents& arena_;
  std::unordered_map<const c10::TensorImpl*, size_t> references_;  // to a tensor, from within the result
  std::unordered_map<const c10::StorageImpl*, size_t> sharers_;    // tensors of the result in a storage
  std::unordered_set<const c10::TensorImpl*> shared_;              // held by containers that something else holds
  std::unordered_set<const c10::StorageImpl*> held_;
  std::unordered_set<const c10::StorageImpl*> taken_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> kept_;
};

}  // namespace

void keep_result(c10::IValue result, const MemoryBlock& workspace, ArenaContents& arena) {
  // The common case: one tensor in planned memory.
  if (result.isTensor() && result.toTensor().defined()) {
    const at::Tensor& tensor = result.toTensor();
    if (is_planned_output(tensor.unsafeGetTensorImpl(), arena) && tensor.use_count() == 2 &&
        tensor.storage().use_count() == 1 && !is_lazy(tensor)) {
      arena.outputs.push_back(tensor);
      arena.result = std::move(result);
      return;
    }
    // One in the workspace is copied whoever else holds it.
    if (tensor.has_storage() && workspace.holds(tensor.storage().data())) {
      arena.outputs.push_back(copy_of(tensor));
      arena.result = arena.outputs.back();
      return;
    }
  }
  Keeper keeper(workspace, arena);
  keeper.count(result);
  keeper.find_held();
  arena.result = keeper.keep(result);
}

}  // namespace stator
