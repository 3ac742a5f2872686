#include "frontend/torchscript/pickle.h"

#include <torch/csrc/jit/serialization/pickle.h>

#include "graph/error.h"

namespace stator {

c10::IValue unpickle(const std::vector<char>& bytes, const std::string& name) {
  try {
    return torch::jit::pickle_load(bytes);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kBadModel, "\"" + name + "\" is not a file of torch.save, or it is damaged, or it holds more than tensors, numbers, texts, lists, tuples and dicts: " +
                                          error.what_without_backtrace());
  }
}

std::vector<char> pickle(const c10::IValue& value) {
  try {
    return torch::jit::pickle_save(value);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kUnsupported, std::string("the value cannot be written: ") + error.what_without_backtrace());
  }
}

}  // namespace stator
