#include "ops/call.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <utility>

namespace stator {
namespace {

constexpr int64_t kUnusable = -1;

// kUnusable for what cannot be placed: negative sizes and overflow, whose error is LibTorch's to raise.
int64_t bytes_needed(at::IntArrayRef sizes, at::IntArrayRef strides, size_t itemsize) {
  int64_t elements = 1;
  bool empty = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) return kUnusable;
    empty |= sizes[d] == 0;
    if (strides.empty()) {
      if (__builtin_mul_overflow(elements, sizes[d], &elements)) return kUnusable;
    } else {
      int64_t reach = 0;
      if (strides[d] < 0 || (sizes[d] > 0 && __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach)) ||
          __builtin_add_overflow(elements, reach, &elements)) {
        return kUnusable;
      }
    }
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(itemsize), &bytes)) return kUnusable;
  return empty ? 0 : bytes;
}

// Resizable, so that resize_ moves the tensor out of planned memory instead of failing; run after run that is noticed by reusable().
at::Tensor tensor_over(void* data, int64_t bytes, caffe2::TypeMeta dtype) {
  const c10::InferenceMode inference;  // not every caller is in it
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       c10::DataPtr(data, c10::Device(c10::DeviceType::CPU)),
                                                       c10::GetCPUAllocator(),
                                                       /*resizable=*/true);
  return at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                  c10::DispatchKeySet(c10::DispatchKey::CPU), dtype);
}

bool holds(const c10::IValue& slot, const at::Tensor& tensor) {
  return slot.isTensor() && slot.toTensor().unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl();
}

// False if anything but the buffer and the slot holds the tensor or its storage, or if an operator gave it other memory.
bool reusable(const PlannedBuffer& buffer, bool in_slot, caffe2::TypeMeta dtype) {
  const at::Tensor& tensor = buffer.tensor;
  if (!tensor.defined() || tensor.dtype() != dtype || tensor.use_count() != (in_slot ? 2u : 1u)) return false;
  const c10::Storage& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  return storage && storage.use_count() == 1 && storage.unsafeGetStorageImpl()->data() == buffer.data;
}

void set_shape(c10::TensorImpl& impl, at::IntArrayRef sizes, at::IntArrayRef strides) {
  if (impl.storage_offset() != 0) impl.set_storage_offset(0);
  if (strides.empty() && !sizes.empty()) {
    // Strides of an empty tensor are free, so is_contiguous() would not tell whether they are what they should be.
    if (impl.numel() != 0 && impl.is_contiguous() && impl.sizes() == sizes) return;
    impl.set_sizes_contiguous(sizes);
  } else {
    if (impl.sizes() == sizes && impl.strides() == strides) return;
    impl.set_sizes_and_strides(sizes, strides);
  }
}

at::Tensor on_heap(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  if (strides.empty()) return at::detail::empty_cpu(sizes, dtype);
  return at::detail::empty_strided_cpu(sizes, strides, dtype);
}

// The tensor of the iteration before the last, if nothing holds it any longer and it has just the size; else a new one.
const at::Tensor& take_turn(PlannedBuffer& buffer, at::IntArrayRef sizes, at::IntArrayRef strides,
                            at::ScalarType scalar_type) {
  const caffe2::TypeMeta dtype = c10::scalarTypeToTypeMeta(scalar_type);
  std::swap(buffer.tensor, buffer.previous);
  at::Tensor& tensor = buffer.tensor;
  if (tensor.defined() && tensor.dtype() == dtype && tensor.use_count() == 1) {
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    const c10::Storage& storage = impl.unsafe_storage();
    const auto bytes = static_cast<size_t>(bytes_needed(sizes, strides, dtype.itemsize()));
    if (storage && storage.use_count() == 1 && storage.nbytes() == bytes) {
      set_shape(impl, sizes, strides);
      return tensor;
    }
  }
  return tensor = on_heap(sizes, strides, scalar_type);
}

}  // namespace

void observe_size(const PlannedBuffer& buffer, int64_t bytes) {
  int64_t seen = buffer.observed->load(std::memory_order_relaxed);
  while (seen < bytes) {
    if (!buffer.observed->compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) continue;
    if (buffer.version) buffer.version->fetch_add(1, std::memory_order_release);
    return;
  }
}

at::Tensor& Call::output(int i, at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType scalar_type) const {
  c10::IValue& slot = *outputs_[i];
  PlannedBuffer* buffer = buffers_ ? buffers_[i] : nullptr;
  if (buffer && buffer->carried) {
    slot = take_turn(*buffer, sizes, strides, scalar_type);
    return slot.toTensor();
  }
  if (buffer) {
    const caffe2::TypeMeta dtype = c10::scalarTypeToTypeMeta(scalar_type);
    const int64_t bytes = bytes_needed(sizes, strides, dtype.itemsize());
    if (bytes != kUnusable && bytes <= buffer->capacity) {
      bool in_slot = buffer->tensor.defined() && holds(slot, buffer->tensor);
      if (!reusable(*buffer, in_slot, dtype)) {
        buffer->tensor = tensor_over(buffer->data, bytes, dtype);
        in_slot = false;
      }
      c10::TensorImpl& impl = *buffer->tensor.unsafeGetTensorImpl();
      // The storage is as large as the interpreter's, so that as_strided and resize_ judge alike.
      impl.unsafe_storage().unsafeGetStorageImpl()->set_nbytes(bytes);
      set_shape(impl, sizes, strides);
      if (!in_slot) slot = buffer->tensor;
      return slot.toTensor();
    }
    if (bytes != kUnusable && buffer->observed) observe_size(*buffer, bytes);
  }
  slot = on_heap(sizes, strides, scalar_type);
  return slot.toTensor();
}

}  // namespace stator
