// TorchScript's interpreter: the frozen module, and the one that torch.jit.optimize_for_inference makes of it.
#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include "bench/peer.h"

namespace stator::bench {
namespace {

class TorchScript : public Peer {
 public:
  explicit TorchScript(torch::jit::Module module) : module_(std::move(module)) {}

  void set_inputs(const Inputs& inputs) override { inputs_ = inputs; }
  void run(int times) override {
    c10::InferenceMode inference;
    for (int i = 0; i < times; ++i) result_ = module_.forward(inputs_);
  }
  std::vector<at::Tensor> outputs() override {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : tensors_of(result_)) copies.push_back(tensor.clone());
    return copies;
  }
  bool takes_other_shapes() const override { return true; }

 private:
  torch::jit::Module module_;
  Inputs inputs_;
  c10::IValue result_;
};

torch::jit::Module load(const PeerSettings& settings) {
  torch::jit::Module module = torch::jit::load(settings.stem + ".pt");
  module.eval();
  return module;
}

std::unique_ptr<Peer> make_frozen(const PeerSettings& settings) {
  return std::make_unique<TorchScript>(torch::jit::freeze(load(settings)));
}

std::unique_ptr<Peer> make_optimized(const PeerSettings& settings) {
  torch::jit::Module module = load(settings);
  return std::make_unique<TorchScript>(torch::jit::optimize_for_inference(module));
}

const PeerRegistration frozen{{"torchscript", make_frozen, nullptr}};
const PeerRegistration optimized{{"torchscript_ofi", make_optimized, nullptr}};

}  // namespace
}  // namespace stator::bench
