#include "frontend/torchscript/pickle.h"

#include <ATen/core/Dict.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include "frontend/archive.h"
#include "frontend/torchscript/pickle_check.h"
#include "graph/error.h"

namespace stator {
namespace {

// Typed lists and named tuples are written by classes of torch.jit that torch.load refuses with weights_only: plain ones are not.
c10::IValue without_types(const c10::IValue& value) {
  if (value.isList()) {
    c10::impl::GenericList out(c10::AnyType::get());
    for (const auto& element : value.toListRef()) out.push_back(without_types(element));
    return out;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const auto& element : value.toTupleRef().elements()) elements.push_back(without_types(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isGenericDict()) {
    auto dict = value.toGenericDict();
    c10::impl::GenericDict out(dict.keyType(), c10::AnyType::get());
    for (const auto& pair : dict) out.insert(pair.key(), without_types(pair.value()));
    return out;
  }
  return value;
}

}  // namespace

c10::IValue unpickle(const std::vector<char>& bytes, const std::string& name) {
  try {
    check_archive(bytes);
    check_pickles(bytes);
    return torch::jit::pickle_load(bytes);
  } catch (const Error& error) {
    throw Error(error.code, "\"" + name + "\": " + error.message);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kBadModel, "\"" + name +
                                          "\" is not a file of torch.save, or it is damaged, or it holds more than "
                                          "tensors, numbers, texts, lists, tuples and dicts: " +
                                          error.what_without_backtrace());
  }
}

std::vector<char> pickle(const c10::IValue& value) {
  try {
    std::vector<char> archive;
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, size_t size) {
      archive.insert(archive.end(), static_cast<const char*>(data), static_cast<const char*>(data) + size);
      return size;
    });
    std::vector<char> program;
    torch::jit::Pickler pickler(
        [&](const char* data, size_t size) { program.insert(program.end(), data, data + size); }, nullptr, nullptr,
        nullptr, nullptr, /*tag_aggregates=*/false);
    pickler.protocol();
    pickler.pushIValue(without_types(value));
    pickler.stop();
    size_t number = 0;
    for (const at::Tensor& tensor : pickler.tensorData()) {
      auto data = torch::jit::getWriteableTensorData(tensor);
      writer.writeRecord("data/" + std::to_string(number++), data.data(), data.sizeInBytes());
    }
    writer.writeRecord("data.pkl", program.data(), program.size());
    writer.writeEndOfFile();
    return archive;
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kUnsupported, std::string("the value cannot be written: ") + error.what_without_backtrace());
  }
}

}  // namespace stator
