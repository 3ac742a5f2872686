#include "frontend/torchscript/load.h"

#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "frontend/torchscript/debug_check.h"
#include "frontend/torchscript/import.h"
#include "frontend/torchscript/pickle_check.h"
#include "frontend/torchscript/source_check.h"

namespace stator {
namespace {

// Feeds LibTorch's reader from memory and remembers which bytes went where, so that weights that were copied out of the archive can be
// pointed back into it.
class RecordingAdapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit RecordingAdapter(ArchiveBytes bytes) : bytes_(std::move(bytes)) {}

  size_t size() const override { return bytes_.size; }

  size_t read(uint64_t position, void* buffer, size_t count, const char*) const override {
    if (position >= bytes_.size) return 0;
    count = std::min<uint64_t>(count, bytes_.size - position);
    const char* from = static_cast<const char*>(bytes_.data.get()) + position;
    std::memcpy(buffer, from, count);
    std::lock_guard lock(mutex_);
    reads_[buffer] = {from, count};
    return count;
  }

  // The place in the archive that `buffer` was read from, NULL if its bytes are not those of one whole read.
  const void* origin(const void* buffer, size_t count) const {
    auto found = reads_.find(buffer);
    if (found == reads_.end() || found->second.second < count) return nullptr;
    // A buffer may have been freed and used again: only equal bytes are the same weights.
    if (std::memcmp(buffer, found->second.first, count) != 0) return nullptr;
    return found->second.first;
  }

 private:
  ArchiveBytes bytes_;
  mutable std::mutex mutex_;
  mutable std::map<const void*, std::pair<const void*, size_t>> reads_;
};

void point_into_archive(const torch::jit::Module& module, const RecordingAdapter& adapter, const ArchiveBytes& bytes) {
  const auto repoint = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const c10::Storage& storage = tensor.storage();
    const void* place = adapter.origin(storage.data(), storage.nbytes());
    constexpr uintptr_t kElementAlignment = 16;
    if (!place || reinterpret_cast<uintptr_t>(place) % kElementAlignment != 0) return;
    auto* owner = new std::shared_ptr<const void>(bytes.data);
    const auto release = [](void* context) { delete static_cast<std::shared_ptr<const void>*>(context); };
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(
        at::DataPtr(const_cast<void*>(place), owner, release, at::kCPU));
  };
  for (const at::Tensor& parameter : module.parameters()) repoint(parameter);
  for (const at::Tensor& buffer : module.buffers()) repoint(buffer);
}

// What LibTorch's reader says where a model calls an operator that nobody has registered.
[[noreturn]] void refuse_archive(const std::string& message) {
  constexpr std::string_view kUnknown = "Unknown builtin op: ";
  if (const auto at = message.find(kUnknown); at != std::string::npos) {
    const auto first = at + kUnknown.size();
    const std::string name = message.substr(first, message.find_first_of(". \n", first) - first);
    throw Error(ErrorCode::kUnsupported,
                "the model calls the operator \"" + name +
                    "\", which neither LibTorch nor a library loaded so far brings: load its library first",
                {.op = name});
  }
  throw Error(ErrorCode::kBadModel, "the archive cannot be loaded: " + message);
}

}  // namespace

Program load_torchscript(const ArchiveBytes& bytes, bool borrow) {
  check_archive(bytes.span());
  check_pickles(bytes.span());
  check_debug_records(bytes.span());
  check_sources(bytes.span());
  auto adapter = std::make_shared<RecordingAdapter>(bytes);
  try {
    torch::jit::Module module = torch::jit::load(adapter, at::kCPU);
    bool training = module.is_training();
    module.eval();
    if (borrow) point_into_archive(module, *adapter, bytes);
    Program program = import_torchscript(module);
    program.training = training;
    return program;
  } catch (const c10::Error& error) {
    refuse_archive(error.what_without_backtrace());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    refuse_archive(error.what());
  }
}

}  // namespace stator
