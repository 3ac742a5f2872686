#include "frontend/export/weights.h"

#include "frontend/export/arguments_reader.h"
#include "frontend/json.h"
#include "frontend/tensor_memory.h"
#include "frontend/torchscript/bound_class.h"
#include "frontend/torchscript/pickle.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

constexpr uintptr_t kElementAlignment = 16;
constexpr std::string_view kObject = "custom_obj_";

std::vector<int64_t> numbers(const std::vector<SizeExpression>& sizes) {
  std::vector<int64_t> out;
  for (const SizeExpression& size : sizes) {
    if (!size.is_number()) malformed("the size of a weight is no number");
    out.push_back(size.number);
  }
  return out;
}

class WeightReader {
 public:
  WeightReader(const Records& records, bool borrow) : records_(records), borrow_(borrow) {}

  void read(const Records::Table& table, std::map<std::string, c10::IValue>& out) {
    const Json json = parse_json(records_.text(table.name), table.name);
    const Json& entries = member(json, "config");
    if (!entries.is_object()) malformed("\"" + table.name + "\" has no table");
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      const std::string& path = text(member(*it, "path_name"), "path_name");
      const Json* meta = optional_member(*it, "tensor_meta");
      if (!meta) {
        if (path.starts_with(kObject)) out[it.key()] = object(table.folder + path);
        continue;
      }
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
    if (sizes.size() != strides.size()) malformed("\"" + name + "\" has not as many strides as sizes");
    const auto needed = bytes_needed(meta.dtype, sizes, strides, offset);
    if (!needed) malformed("sizes of \"" + name + "\" are negative or too large");
    const c10::Storage& storage = memory_of(record);
    if (*needed > storage.nbytes()) {
      if (storage.nbytes() == 0)
        throw Error(ErrorCode::kUnsupported, "\"" + name +
                                                 "\" has no values in the archive: the program was exported "
                                                 "with fake tensors; save it with its weights");
      malformed("\"" + name + "\" does not fit its " + std::to_string(storage.nbytes()) + " bytes");
    }
    return tensor_over(storage, meta.dtype, sizes, strides, offset);
  }

  c10::IValue object(const std::string& record) {
    auto known = objects_.find(record);
    if (known != objects_.end()) return known->second;
    const auto bytes = records_.bytes(record);
    return objects_.emplace(record, unpickle_object({bytes.begin(), bytes.end()}, record)).first->second;
  }

  const c10::Storage& memory_of(const std::string& record) {
    auto known = memory_.find(record);
    if (known != memory_.end()) return known->second;
    return memory_.emplace(record, storage_of(records_.bytes(record), records_.archive(), borrow_, kElementAlignment))
        .first->second;
  }

  const Records& records_;
  const bool borrow_;
  std::map<std::string, c10::Storage> memory_;
  std::map<std::string, c10::IValue> objects_;
};

// A dict of tensors.
void read_pickle(const Records& records, const std::string& name, std::map<std::string, c10::IValue>& out) {
  const auto bytes = records.bytes(name);
  const c10::IValue value = unpickle({bytes.begin(), bytes.end()}, name);
  if (!value.isGenericDict()) malformed("\"" + name + "\" holds no dict");
  for (const auto& pair : value.toGenericDict()) {
    if (pair.key().isString() && pair.value().isTensor())
      out[pair.key().toStringRef()] = pair.value().toTensor().detach();
  }
}

}  // namespace

std::map<std::string, c10::IValue> read_weights(const Records& records, bool borrow) {
  std::map<std::string, c10::IValue> out;
  WeightReader reader(records, borrow);
  for (const Records::Table& table : records.tables()) reader.read(table, out);
  for (const std::string& pickle : records.pickles()) read_pickle(records, pickle, out);
  return out;
}

}  // namespace stator::exported
