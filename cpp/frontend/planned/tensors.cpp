#include "frontend/planned/tensors.h"

#include <ATen/EmptyTensor.h>

#include <cstring>

#include "graph/dtype.h"
#include "graph/error.h"

namespace stator::planned {
namespace {

using exported::integer;
using exported::list;
using exported::malformed;
using exported::text;

constexpr uintptr_t kAlignment = 64;
constexpr size_t kMostDimensions = 64;

bool is_strided(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.has_storage() && tensor.device().is_cpu() &&
         !tensor.is_quantized() && !tensor.is_conj() && !tensor.is_neg();
}

// Storage that a tensor needs, in bytes; nullopt if that is no sensible number.
std::optional<uint64_t> bytes_needed(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                                     size_t element_size) {
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
  if (__builtin_mul_overflow(static_cast<uint64_t>(last) + 1, element_size, &bytes)) return std::nullopt;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(element_size), &elements)) return std::nullopt;
  return empty ? 0 : bytes;
}

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

std::vector<int64_t> integers(const Json& numbers, const char* what) {
  std::vector<int64_t> out;
  for (const Json& number : list(numbers, what)) out.push_back(integer(number, what));
  return out;
}

at::Tensor read_tensor(const Json& row, const std::vector<c10::Storage>& memory) {
  if (list(row, "a tensor").size() != 5) malformed("a tensor is not what it should be");
  const int64_t index = integer(row[0], "memory of a tensor");
  if (index < 0 || index >= static_cast<int64_t>(memory.size())) malformed("there is no memory of a tensor");
  const auto dtype = dtype_from_name(text(row[1], "a dtype"));
  if (!dtype) malformed("there is no dtype " + row[1].dump());
  const int64_t offset = integer(row[2], "the offset of a tensor");
  const auto sizes = integers(row[3], "sizes"), strides = integers(row[4], "strides");
  if (sizes.size() != strides.size() || sizes.size() > kMostDimensions) malformed("a tensor has no shape");
  const c10::Storage& storage = memory[static_cast<size_t>(index)];
  const auto needed = bytes_needed(sizes, strides, offset, c10::elementSize(*dtype));
  if (!needed || *needed > storage.nbytes()) malformed("a tensor does not fit its memory");
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(*dtype));
  out.unsafeGetTensorImpl()->set_storage_offset(offset);
  out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return out;
}

}  // namespace

int64_t TensorWriter::add(const at::Tensor& tensor) {
  if (!tensor.defined()) return -1;
  const auto [known, added] = known_.emplace(tensor.unsafeGetTensorImpl(), static_cast<int64_t>(rows_.size()));
  if (!added) return known->second;
  kept_.push_back(tensor);
  if (!is_strided(tensor))
    throw Error(ErrorCode::kUnsupported,
                std::string("a tensor that is ") +
                    (tensor.is_quantized() ? "quantized" : "sparse, lazily conjugate, or on another device") +
                    " cannot be saved");
  const auto* storage = tensor.storage().unsafeGetStorageImpl();
  const auto [place, fresh] = known_memory_.emplace(storage, static_cast<int64_t>(memory_.size()));
  if (fresh) memory_.push_back(tensor.storage());
  rows_.push_back({place->second, dtype_name(tensor.scalar_type()), tensor.storage_offset(), tensor.sizes().vec(),
                   tensor.strides().vec()});
  return known->second;
}

bool TensorWriter::has_memory(const at::Tensor& tensor) const {
  return known_memory_.count(tensor.storage().unsafeGetStorageImpl()) != 0;
}

TensorReader::TensorReader(const Json& rows, size_t records, const std::function<std::span<const char>(size_t)>& record,
                           const ArchiveBytes& archive, bool borrow) {
  std::vector<c10::Storage> memory;
  for (size_t i = 0; i < records; ++i) {
    const auto bytes = record(i);
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0;
    memory.push_back(borrow && aligned ? borrowed(bytes, archive) : copied(bytes));
  }
  for (const Json& row : list(rows, "tensors")) tensors_.push_back(read_tensor(row, memory));
}

at::Tensor TensorReader::operator[](const Json& row) const {
  const int64_t index = integer(row, "a tensor");
  if (index < -1 || index >= static_cast<int64_t>(tensors_.size())) malformed("there is no tensor " + row.dump());
  return index < 0 ? at::Tensor() : tensors_[static_cast<size_t>(index)];
}

}  // namespace stator::planned
