// Stator's C++ core called directly: what the C interface and its front cost is the difference to stator.cpp. In a program of its own,
// because the core cannot be in a process twice.
#include "bench/peer.h"
#include "frontend/load.h"
#include "runtime/arena.h"
#include "runtime/runtime.h"

namespace stator::bench {
namespace {

std::shared_ptr<StaticModule> load(const std::string& path) {
  ModuleOptions options;
  options.signature_plans = true;
  return std::make_shared<StaticModule>(load_model_file(path, options.map_weights), options);
}

RuntimeOptions runtime_options(int threads) {
  RuntimeOptions options;
  options.intra_op_threads = threads;
  options.latencies = false;
  return options;
}

class Core : public Peer {
 public:
  explicit Core(const PeerSettings& settings)
      : module_(load(settings.stem + ".pt")),
        forward_(*module_->find_method("forward")),
        runtime_(module_, runtime_options(settings.threads)),
        arena_(module_) {}

  void set_inputs(const Inputs& inputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) runtime_.bind(forward_, static_cast<int32_t>(i), inputs[i]);
  }
  void run(int times) override {
    for (int i = 0; i < times; ++i) runtime_.run(forward_, arena_);
  }
  std::vector<at::Tensor> outputs() override {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : arena_.outputs()) copies.push_back(tensor.clone());
    return copies;
  }
  bool takes_other_shapes() const override { return true; }

 private:
  std::shared_ptr<StaticModule> module_;
  const StaticMethod& forward_;
  StaticRuntime runtime_;
  Arena arena_;
};

std::unique_ptr<Peer> make(const PeerSettings& settings) { return std::make_unique<Core>(settings); }

const PeerRegistration registration{{"stator_core", make, nullptr}};

}  // namespace
}  // namespace stator::bench
