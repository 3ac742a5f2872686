#include "frontend/tensor_memory.h"

#include <ATen/EmptyTensor.h>

#include <cstring>
#include <memory>
#include <utility>

namespace stator {
namespace {

c10::Storage copied(std::span<const char> bytes) {
  auto* allocator = c10::GetAllocator(at::kCPU);
  at::DataPtr data = allocator->allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(data.get(), bytes.data(), bytes.size());
  return {c10::Storage::use_byte_size_t(), bytes.size(), std::move(data), allocator, /*resizable=*/true};
}

c10::Storage borrowed(std::span<const char> bytes, const ArchiveBytes& archive) {
  auto* owner = new std::shared_ptr<const void>(archive.data);
  const auto release = [](void* context) { delete static_cast<std::shared_ptr<const void>*>(context); };
  at::DataPtr data(const_cast<char*>(bytes.data()), owner, release, at::kCPU);
  return {c10::Storage::use_byte_size_t(), bytes.size(), std::move(data), nullptr, /*resizable=*/false};
}

}  // namespace

c10::Storage storage_of(std::span<const char> bytes, const ArchiveBytes& archive, bool borrow, uintptr_t alignment) {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
  return borrow && aligned ? borrowed(bytes, archive) : copied(bytes);
}

std::optional<uint64_t> bytes_needed(at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides,
                                     int64_t offset) {
  const auto element_size = static_cast<int64_t>(c10::elementSize(dtype));
  int64_t last = offset, elements = 1;
  bool empty = false;
  if (offset < 0) return std::nullopt;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t span = 0;
    if (sizes[i] < 0 || strides[i] < 0) return std::nullopt;
    empty |= sizes[i] == 0;
    if (__builtin_mul_overflow(sizes[i] > 0 ? sizes[i] - 1 : 0, strides[i], &span) ||
        __builtin_add_overflow(last, span, &last) ||
        __builtin_mul_overflow(elements, sizes[i] > 0 ? sizes[i] : 1, &elements))
      return std::nullopt;
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(last) + 1, element_size, &bytes) ||
      __builtin_mul_overflow(elements, element_size, &elements))
    return std::nullopt;
  return empty ? 0 : bytes;
}

at::Tensor tensor_over(const c10::Storage& storage, at::ScalarType dtype, at::IntArrayRef sizes,
                       at::IntArrayRef strides, int64_t offset) {
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  out.unsafeGetTensorImpl()->set_storage_offset(offset);
  out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return out;
}

}  // namespace stator
