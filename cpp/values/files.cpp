#include "values/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontend/torchscript/pickle.h"
#include "graph/error.h"
#include "values/npz.h"

namespace stator {
namespace {

bool ends_in_npz(const std::string& path) { return std::filesystem::path(path).extension() == ".npz"; }

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    auto code = std::filesystem::exists(path) ? ErrorCode::kIo : ErrorCode::kNotFound;
    throw Error(code, "cannot open \"" + path + "\": " + std::strerror(errno));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

const at::Tensor& array(const c10::IValue& value, const std::string& name) {
  if (!value.isTensor())
    throw Error(ErrorCode::kUnsupported,
                "entry \"" + name + "\": .npz files hold tensors only, got " + value.tagKind());
  return value.toTensor();
}

std::vector<NamedTensor> as_arrays(const c10::IValue& value) {
  std::vector<NamedTensor> out;
  const auto add = [&](const std::string& name, const c10::IValue& item) { out.emplace_back(name, array(item, name)); };
  if (value.isTuple()) {
    const auto& tuple = value.toTupleRef();
    const auto& schema = tuple.type()->schema();
    for (size_t i = 0; i < tuple.elements().size(); ++i) {
      add(schema ? schema->arguments()[i].name() : "arr_" + std::to_string(i), tuple.elements()[i]);
    }
  } else if (value.isList()) {
    auto list = value.toList();
    for (size_t i = 0; i < list.size(); ++i) add("arr_" + std::to_string(i), list.get(i));
  } else if (value.isGenericDict()) {
    for (const auto& pair : value.toGenericDict()) {
      if (!pair.key().isString())
        throw Error(ErrorCode::kUnsupported, ".npz files need text as keys, got " + pair.key().tagKind());
      add(pair.key().toStringRef(), pair.value());
    }
  } else {
    add("arr_0", value);
  }
  return out;
}

c10::IValue from_arrays(const std::vector<NamedTensor>& arrays) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  for (auto& [name, tensor] : arrays) dict.insert(name, tensor);
  return dict;
}

// torch.save writes tensors that cannot be a caller's value.
void check_tensors(const c10::IValue& value, const std::string& path) {
  value.visit([&](const c10::IValue& inner) {
    if (!inner.isTensor() || !inner.toTensor().defined()) return false;
    const at::Tensor& tensor = inner.toTensor();
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) {
      throw Error(ErrorCode::kUnsupported,
                  "\"" + path + "\" holds a tensor that is " + (tensor.is_quantized() ? "quantized" : "not strided") +
                      "; expected strided tensors, convert it with to_dense() or dequantize()");
    }
    return false;
  });
}

}  // namespace

c10::IValue read_value(const std::string& path) {
  if (ends_in_npz(path)) return from_arrays(read_npz(path));
  c10::IValue value = unpickle(read_file(path), path);
  check_tensors(value, path);
  return value;
}

void write_value(const c10::IValue& value, const std::string& path) {
  if (ends_in_npz(path)) {
    auto arrays = as_arrays(value);
    return write_npz(path, arrays);
  }
  std::vector<char> bytes = pickle(value);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error(ErrorCode::kIo, "cannot write \"" + path + "\": " + std::strerror(errno));
}

}  // namespace stator
