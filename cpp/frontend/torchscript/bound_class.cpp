#include "frontend/torchscript/bound_class.h"

#include <ATen/core/function.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import_read.h>
#include <torch/custom_class_detail.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "frontend/archive.h"
#include "frontend/torchscript/pickle_check.h"
#include "graph/error.h"

namespace stator {
namespace {

class BytesAdapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit BytesAdapter(const std::vector<char>& bytes) : bytes_(bytes) {}

  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t position, void* buffer, size_t count, const char*) const override {
    if (position >= bytes_.size()) return 0;
    count = std::min<uint64_t>(count, bytes_.size() - position);
    std::memcpy(buffer, bytes_.data() + position, count);
    return count;
  }

 private:
  const std::vector<char>& bytes_;
};

c10::intrusive_ptr<c10::ivalue::Object> with_state(const c10::StrongTypePtr& type, const c10::IValue& state) {
  const auto class_type = type.type_->expect<c10::ClassType>();
  auto* set_state = class_type->findMethod("__setstate__");
  if (!set_state)
    throw Error(ErrorCode::kUnsupported, "an object of the class " + class_type->annotation_str() +
                                             " cannot be read: the class has no def_pickle");
  auto object = c10::ivalue::Object::create(type, class_type->numAttributes());
  (*set_state)({object, state});  // which looks at the state's type first
  return object;
}

}  // namespace

bool is_bound_class(const std::string& name) { return name.starts_with("__torch__.torch.classes."); }

c10::ClassTypePtr bound_class(const std::string& name) {
  if (is_bound_class(name)) {
    if (c10::ClassTypePtr found = torch::getCustomClass(name)) return found;
  }
  throw Error(ErrorCode::kUnsupported,
              "the model has an object of the class " + name +
                  ", which neither LibTorch nor a library loaded so far brings: load its library first");
}

c10::IValue unpickle_object(const std::vector<char>& archive, const std::string& name) {
  try {
    check_archive(archive);
    check_pickles(archive);
    caffe2::serialize::PyTorchStreamReader reader(std::make_shared<BytesAdapter>(archive));
    const auto resolve = [](const c10::QualifiedName& wanted) {
      return c10::StrongTypePtr(nullptr, bound_class(wanted.qualifiedName()));
    };
    return torch::jit::readArchiveAndTensors("data", "", "", resolve, with_state, at::kCPU, reader);
  } catch (const Error& error) {
    throw Error(error.code, "\"" + name + "\": " + error.message);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kBadModel,
                "the archive is damaged: \"" + name + "\" holds no object: " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kBadModel, "the object \"" + name + "\" cannot be made: " + error.what());
  }
}

}  // namespace stator
