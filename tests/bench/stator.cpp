// Stator through its C interface: inputs bound once, an arena that each run recycles, no histogram of latencies.
#include <stator/stator.h>

#include <ATen/ops/from_blob.h>

#include <map>
#include <stdexcept>
#include <string_view>

#include "bench/peer.h"

namespace stator::bench {
namespace {

void check(stator_status* status) {
  if (!status) return;
  const std::string message =
      std::string(stator_status_name(stator_status_code(status))) + ": " + stator_status_message(status);
  stator_status_release(status);
  throw std::runtime_error(message);
}

const std::map<at::ScalarType, int32_t> kDtypes{
    {at::kFloat, STATOR_FLOAT32}, {at::kDouble, STATOR_FLOAT64},    {at::kLong, STATOR_INT64},
    {at::kInt, STATOR_INT32},     {at::kBool, STATOR_BOOL},         {at::kHalf, STATOR_FLOAT16},
    {at::kByte, STATOR_UINT8},    {at::kBFloat16, STATOR_BFLOAT16},
};

at::ScalarType dtype_of(int32_t number) {
  for (auto [dtype, known] : kDtypes)
    if (known == number) return dtype;
  throw std::runtime_error(std::string("a result of dtype ") + stator_dtype_name(number));
}

constexpr std::string_view kScript = ".pt";
constexpr std::string_view kExport = ".pt2";  // exported for one shape

class Stator : public Peer {
 public:
  Stator(const PeerSettings& settings, const char* plans, std::string_view suffix)
      : takes_other_shapes_(suffix == kScript) {
    stator_options* options = nullptr;
    check(stator_options_create(&options));
    check(stator_options_set_str(options, "plans", plans));
    check(stator_module_load((settings.stem + std::string(suffix)).c_str(), options, &module_));
    stator_options_release(options);
    check(stator_module_find_method(module_, "forward", &forward_));
    check(stator_options_create(&options));
    check(stator_options_set_int(options, "intra_op_threads", settings.threads));
    check(stator_options_set_str(options, "latencies", "off"));
    check(stator_runtime_create(module_, options, &runtime_));
    stator_options_release(options);
    check(stator_arena_create(module_, nullptr, &arena_));
  }
  ~Stator() override {
    stator_arena_release(arena_);
    stator_runtime_release(runtime_);
    stator_module_release(module_);
  }
  Stator(const Stator&) = delete;
  Stator& operator=(const Stator&) = delete;

  void set_inputs(const Inputs& inputs) override {
    inputs_ = inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) bind(static_cast<int32_t>(i), inputs_[i]);
  }
  void run(int times) override {
    for (int i = 0; i < times; ++i)
      if (stator_status* status = stator_runtime_run(runtime_, forward_, arena_)) check(status);
  }
  std::vector<at::Tensor> outputs() override {
    std::vector<at::Tensor> copies;
    for (int32_t i = 0; i < stator_arena_output_count(arena_); ++i) {
      const void* data = nullptr;
      int32_t dtype = 0, ndim = 0;
      const int64_t *shape = nullptr, *strides = nullptr;
      check(stator_arena_output(arena_, i, &data, &dtype, nullptr, &ndim, &shape, &strides));
      const auto rank = static_cast<size_t>(ndim);
      copies.push_back(at::from_blob(const_cast<void*>(data), {shape, rank}, {strides, rank}, dtype_of(dtype)).clone());
    }
    return copies;
  }
  bool takes_other_shapes() const override { return takes_other_shapes_; }

 private:
  void bind(int32_t index, const c10::IValue& input) {
    if (input.isTensor()) {
      const at::Tensor& tensor = input.toTensor();
      check(stator_runtime_bind(runtime_, forward_, index, tensor.data_ptr(), kDtypes.at(tensor.scalar_type()),
                                STATOR_CPU, static_cast<int32_t>(tensor.dim()), tensor.sizes().data(),
                                tensor.strides().data()));
      return;
    }
    stator_value* number = nullptr;
    check(stator_value_create_int(input.toInt(), &number));
    check(stator_runtime_bind_value(runtime_, forward_, index, number));
    stator_value_release(number);
  }

  bool takes_other_shapes_;
  Inputs inputs_;
  stator_module* module_ = nullptr;
  const stator_method* forward_ = nullptr;
  stator_runtime* runtime_ = nullptr;
  stator_arena* arena_ = nullptr;
};

std::unique_ptr<Peer> make_dynamic(const PeerSettings& settings) {
  return std::make_unique<Stator>(settings, "dynamic", kScript);
}

std::unique_ptr<Peer> make_signature(const PeerSettings& settings) {
  return std::make_unique<Stator>(settings, "signature", kScript);
}

std::unique_ptr<Peer> make_exported(const PeerSettings& settings) {
  return std::make_unique<Stator>(settings, "signature", kExport);
}

// LibTorch is in the process already; this opens the core.
void open_core() {
  stator_bytes* info = nullptr;
  check(stator_build_info(&info));
  stator_bytes_release(info);
}

const PeerRegistration dynamic{{"stator_dynamic", make_dynamic, open_core}};
const PeerRegistration signature{{"stator", make_signature, open_core}};
const PeerRegistration exported{{"stator_pt2", make_exported, open_core}};

}  // namespace
}  // namespace stator::bench
