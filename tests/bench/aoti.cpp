// AOTInductor: code that a compiler made of the exported model, for these shapes and this number of threads.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <filesystem>
#include <stdexcept>

#include "bench/peer.h"

namespace stator::bench {
namespace {

class AotInductor : public Peer {
 public:
  explicit AotInductor(const PeerSettings& settings)
      : loader_(settings.stem + (settings.threads == 1 ? ".aoti1.pt2" : ".aoti_all.pt2"), "model",
                /*run_single_threaded=*/true) {}

  // Arguments that are no tensors are part of the code.
  void set_inputs(const Inputs& inputs) override {
    inputs_.clear();
    for (const c10::IValue& input : inputs)
      if (input.isTensor()) inputs_.push_back(input.toTensor());
  }
  void run(int times) override {
    c10::InferenceMode inference;
    for (int i = 0; i < times; ++i) results_ = loader_.run(inputs_);
  }
  std::vector<at::Tensor> outputs() override {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : results_) copies.push_back(tensor.clone());
    return copies;
  }
  bool takes_other_shapes() const override { return false; }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> results_;
};

// The compiled libraries need libtorch.so by name; with a CUDA build of torch that brings CUDA's libraries along. Opened by path once,
// it is found by name.
void open_libtorch() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info))
    throw std::runtime_error("LibTorch's path is not known");
  const auto library = std::filesystem::path(info.dli_fname).parent_path() / "libtorch.so";
  if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
}

std::unique_ptr<Peer> make(const PeerSettings& settings) { return std::make_unique<AotInductor>(settings); }

const PeerRegistration registration{{"aotinductor", make, open_libtorch}};

}  // namespace
}  // namespace stator::bench
