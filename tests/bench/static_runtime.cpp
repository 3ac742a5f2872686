// Upstream's Static Runtime, whose symbols every LibTorch still has: out variants, planned memory, and outputs managed as well, which its
// own benchmark does. Its outputs are to be released before the next run.
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/runtime/static/impl.h>
#include <torch/script.h>

#include "bench/peer.h"

namespace stator::bench {
namespace {

class UpstreamStaticRuntime : public Peer {
 public:
  explicit UpstreamStaticRuntime(const PeerSettings& settings)
      : module_(load(settings.stem + ".pt"), /*is_frozen=*/false, options(), /*sample_inputs=*/{}), runtime_(module_) {}
  ~UpstreamStaticRuntime() override { release(); }
  UpstreamStaticRuntime(const UpstreamStaticRuntime&) = delete;
  UpstreamStaticRuntime& operator=(const UpstreamStaticRuntime&) = delete;

  void set_inputs(const Inputs& inputs) override { inputs_ = inputs; }
  void run(int times) override {
    c10::InferenceMode inference;
    for (int i = 0; i < times; ++i) {
      release();
      result_ = runtime_(inputs_, {});
    }
  }
  std::vector<at::Tensor> outputs() override {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : tensors_of(result_)) copies.push_back(tensor.clone());
    return copies;
  }
  bool takes_other_shapes() const override { return true; }

 private:
  static torch::jit::Module load(const std::string& path) {
    torch::jit::Module module = torch::jit::load(path);
    module.eval();
    return module;
  }
  static torch::jit::StaticModuleOptions options() {
    torch::jit::StaticModuleOptions options;
    options.manage_output_tensors = true;
    return options;
  }
  void release() {
    if (result_.isNone()) return;
    result_ = c10::IValue();
    runtime_.deallocateOutputTensors();
  }

  torch::jit::StaticModule module_;
  torch::jit::StaticRuntime runtime_;
  Inputs inputs_;
  c10::IValue result_;
};

std::unique_ptr<Peer> make(const PeerSettings& settings) { return std::make_unique<UpstreamStaticRuntime>(settings); }

const PeerRegistration registration{{"static_runtime", make, nullptr}};

}  // namespace
}  // namespace stator::bench
