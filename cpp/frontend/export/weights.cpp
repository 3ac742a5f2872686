#include "frontend/export/weights.h"

#include <ATen/EmptyTensor.h>

#include <cstring>
#include <utility>

#include "frontend/export/arguments_reader.h"
#include "frontend/export/json.h"
#include "frontend/torchscript/pickle.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

constexpr uintptr_t kElementAlignment = 16;

// What a tensor needs of its storage, counted so that no number in a file can overflow it.
class Extent {
 public:
  Extent(const std::string& name, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) : name_(name) {
    if (sizes.size() != strides.size()) malformed("\"" + name + "\" has not as many strides as sizes");
    if (offset < 0) too_large();
    last_ = offset;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0 || strides[i] < 0) too_large();
      empty_ |= sizes[i] == 0;
      int64_t span = 0;
      if (__builtin_mul_overflow(sizes[i] > 0 ? sizes[i] - 1 : 0, strides[i], &span) ||
          __builtin_add_overflow(last_, span, &last_))
        too_large();
      int64_t count = 0;
      if (__builtin_mul_overflow(elements_, sizes[i] > 0 ? sizes[i] : 1, &count)) too_large();
      elements_ = count;
    }
  }

  bool empty() const { return empty_; }
  bool fits(size_t bytes, size_t element_size) const {
    return empty_ || static_cast<uint64_t>(last_) < bytes / element_size;
  }

 private:
  [[noreturn]] void too_large() const { malformed("sizes of \"" + name_ + "\" are negative or too large"); }

  const std::string& name_;
  int64_t last_ = 0;  // element
  int64_t elements_ = 1;
  bool empty_ = false;
};

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

std::vector<int64_t> numbers(const std::vector<SizeExpression>& sizes) {
  std::vector<int64_t> out;
  for (const SizeExpression& size : sizes) {
    if (!size.is_number()) malformed("the size of a weight is no number");
    out.push_back(size.number);
  }
  return out;
}

class Reader {
 public:
  Reader(const Records& records, bool borrow) : records_(records), borrow_(borrow) {}

  void read(const Records::Table& table, std::map<std::string, at::Tensor>& out) {
    const Json json = parse_json(records_.text(table.name), table.name);
    const Json& entries = member(json, "config");
    if (!entries.is_object()) malformed("\"" + table.name + "\" has no table");
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      const std::string& path = text(member(*it, "path_name"), "path_name");
      const Json* meta = optional_member(*it, "tensor_meta");
      if (!meta) continue;  // an object; who uses it will be refused
      const Json* pickled = optional_member(*it, "use_pickle");
      if (pickled && boolean(*pickled, "use_pickle"))
        throw Error(ErrorCode::kUnsupported, "\"" + it.key() + "\" is pickled, not a plain tensor");
      out[it.key()] = tensor(it.key(), table.folder + path, read_tensor_meta(*meta));
    }
  }

 private:
  at::Tensor tensor(const std::string& name, const std::string& record, const TensorMeta& meta) {
    if (meta.layout != at::kStrided)
      throw Error(ErrorCode::kUnsupported, "\"" + name + "\" is a sparse tensor, which is not supported");
    const auto sizes = numbers(meta.sizes), strides = numbers(meta.strides);
    if (!meta.storage_offset.is_number()) malformed("the offset of \"" + name + "\" is no number");
    const int64_t offset = meta.storage_offset.number;
    const Extent extent(name, sizes, strides, offset);
    const c10::Storage& storage = storage_of(record);
    const size_t element_size = c10::elementSize(meta.dtype);
    if (!extent.fits(storage.nbytes(), element_size)) {
      if (storage.nbytes() == 0)
        throw Error(ErrorCode::kUnsupported, "\"" + name +
                                                 "\" has no values in the archive: the program was exported "
                                                 "with fake tensors; save it with its weights");
      malformed("\"" + name + "\" does not fit its " + std::to_string(storage.nbytes()) + " bytes");
    }
    at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(meta.dtype));
    out.unsafeGetTensorImpl()->set_storage_offset(offset);
    out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    return out;
  }

  const c10::Storage& storage_of(const std::string& record) {
    auto known = storages_.find(record);
    if (known != storages_.end()) return known->second;
    const auto bytes = records_.bytes(record);
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % kElementAlignment == 0;
    return storages_.emplace(record, borrow_ && aligned ? borrowed(bytes, records_.archive()) : copied(bytes))
        .first->second;
  }

  const Records& records_;
  const bool borrow_;
  std::map<std::string, c10::Storage> storages_;
};

// A dict of tensors.
void read_pickle(const Records& records, const std::string& name, std::map<std::string, at::Tensor>& out) {
  const auto bytes = records.bytes(name);
  const c10::IValue value = unpickle({bytes.begin(), bytes.end()}, name);
  if (!value.isGenericDict()) malformed("\"" + name + "\" holds no dict");
  for (const auto& pair : value.toGenericDict()) {
    if (pair.key().isString() && pair.value().isTensor())
      out[pair.key().toStringRef()] = pair.value().toTensor().detach();
  }
}

}  // namespace

std::map<std::string, at::Tensor> read_weights(const Records& records, bool borrow) {
  std::map<std::string, at::Tensor> out;
  Reader reader(records, borrow);
  for (const Records::Table& table : records.tables()) reader.read(table, out);
  for (const std::string& pickle : records.pickles()) read_pickle(records, pickle, out);
  return out;
}

}  // namespace stator::exported
