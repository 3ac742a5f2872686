// Stator through its C ABI against TorchScript's interpreter, frozen, in one process: the same inputs, one thread, batches of runs that
// take turns, so that a machine that drifts is the same for both. Prints a table and writes JSON.
//
//   stator_bench_interpreter MODELS_DIR REAL_MODELS_DIR [results.json [NAME]]
//
// NAME: only the models whose name or file holds it.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <stator/stator.h>
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

void check(stator_status* status) {
  if (!status) return;
  std::fprintf(stderr, "%s: %s\n", stator_status_name(stator_status_code(status)), stator_status_message(status));
  std::exit(1);
}

struct Case {
  std::string name;
  std::string model;   // path
  std::string inputs;  // path of a list of argument tuples; empty: float tensors of these shapes
  std::vector<std::vector<int64_t>> shapes;
};

std::vector<c10::IValue> make_inputs(const Case& c) {
  std::vector<c10::IValue> inputs;
  for (const auto& shape : c.shapes) inputs.emplace_back(at::randn(shape));
  if (c.inputs.empty()) return inputs;
  std::ifstream file(c.inputs, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return torch::jit::pickle_load(bytes).toListRef().at(0).toTupleRef().elements().vec();
}

// A method bound to its inputs, ready to run.
class Runner {
 public:
  Runner(const std::string& path, const std::vector<c10::IValue>& inputs) {
    check(stator_module_load(path.c_str(), nullptr, &module_));
    check(stator_module_find_method(module_, "forward", &forward_));
    stator_options* options = nullptr;
    check(stator_options_create(&options));
    check(stator_options_set_int(options, "intra_op_threads", 1));
    check(stator_runtime_create(module_, options, &runtime_));
    stator_options_release(options);
    check(stator_arena_create(module_, nullptr, &arena_));
    for (size_t i = 0; i < inputs.size(); ++i) bind(static_cast<int32_t>(i), inputs[i]);
  }
  ~Runner() {
    stator_arena_release(arena_);
    stator_runtime_release(runtime_);
    stator_module_release(module_);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void run() { check(stator_runtime_run(runtime_, forward_, arena_)); }

  at::Tensor output() {
    const void* data = nullptr;
    int32_t ndim = 0;
    const int64_t *shape = nullptr, *strides = nullptr;
    check(stator_arena_output(arena_, 0, &data, nullptr, nullptr, &ndim, &shape, &strides));
    auto rank = static_cast<size_t>(ndim);
    return at::from_blob(const_cast<void*>(data), {shape, rank}, at::IntArrayRef(strides, rank), at::kFloat).clone();
  }

 private:
  void bind(int32_t index, const c10::IValue& input) {
    if (input.isTensor()) {
      const at::Tensor& tensor = input.toTensor();
      const int32_t dtype = tensor.scalar_type() == at::kLong ? STATOR_INT64 : STATOR_FLOAT32;
      check(stator_runtime_bind(runtime_, forward_, index, tensor.data_ptr(), dtype, STATOR_CPU,
                                static_cast<int32_t>(tensor.dim()), tensor.sizes().data(), tensor.strides().data()));
    } else {
      stator_value* number = nullptr;
      check(stator_value_create_int(input.toInt(), &number));
      check(stator_runtime_bind_value(runtime_, forward_, index, number));
      stator_value_release(number);
    }
  }

  stator_module* module_ = nullptr;
  const stator_method* forward_ = nullptr;
  stator_runtime* runtime_ = nullptr;
  stator_arena* arena_ = nullptr;
};

double time_batch(const std::function<void()>& run, int runs) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / runs;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

at::Tensor first_tensor(const c10::IValue& result) {
  return result.isTensor() ? result.toTensor() : result.toTupleRef().elements()[0].toTensor();
}

nlohmann::ordered_json measure(const Case& c) {
  const std::vector<c10::IValue> inputs = make_inputs(c);
  auto scripted = torch::jit::load(c.model);
  scripted.eval();
  auto frozen = torch::jit::freeze(scripted);
  Runner ours(c.model, inputs);

  c10::InferenceMode inference;
  auto theirs = [&] { frozen.forward(inputs); };
  auto mine = [&] { ours.run(); };
  // As many for each: a model with state must come to the same.
  for (int i = 0; i < 20; ++i) theirs(), mine();
  ours.run();
  const at::Tensor wanted = first_tensor(frozen.forward(inputs));
  const double difference = (wanted - ours.output()).abs().max().item<double>();

  constexpr double kBatchMicroseconds = 2000, kCaseMicroseconds = 4e6;
  const double once = time_batch(theirs, 5);
  const int runs = std::max(1, static_cast<int>(kBatchMicroseconds / once));
  const int batches = std::clamp(static_cast<int>(kCaseMicroseconds / (2 * runs * once)), 11, 101);
  std::vector<double> interpreter, stator, ratio;
  for (int batch = 0; batch < batches; ++batch) {
    interpreter.push_back(time_batch(theirs, runs));
    stator.push_back(time_batch(mine, runs));
    ratio.push_back(interpreter.back() / stator.back());
  }
  return {{"model", c.name},
          {"interpreter_us", median(interpreter)},
          {"stator_us", median(stator)},
          {"ratio", median(ratio)},
          {"largest_difference", difference}};
}

std::vector<Case> make_cases(const std::string& made, const std::string& real) {
  std::vector<Case> cases{
      {"DeepAndWide, batch 1", made + "/deep_and_wide.pt", "", {{1, 1, 32}, {1, 1, 32}, {1, 50}}},
      {"DeepAndWide, batch 20", made + "/deep_and_wide.pt", "", {{20, 1, 32}, {20, 1, 32}, {20, 50}}},
      {"MLP 128-256-256-10, batch 1", made + "/mlp.pt", "", {{1, 128}}},
      {"sigmoid(x * y + x), 64 floats", made + "/add_mul.pt", "", {{64}, {64}}},
      {"100 times x = tanh(x * y), 4 floats", made + "/tanh_loop.pt", "", {{4}, {4}}},
  };
  const std::pair<const char*, const char*> published[] = {
      {"MTCNN's PNet, image 60x80", "mtcnn_pnet"},
      {"Silero VAD, 512 samples", "silero_vad"},
      {"AttaCut, 40 characters", "attacut"},
      {"CREPE tiny, 1 frame", "crepe_tiny"},
      {"MiniLM (BERT), 16 tokens", "minilm"},
      {"voice encoder (LSTM), 160 frames", "voice_encoder"},
      {"EfficientNet-Lite0, image 224x224", "efficientnet_lite0"},
      {"Khmer OCR (CRNN), line 48x192", "khmer_ocr"},
  };
  for (auto [name, file] : published)
    cases.push_back({name, real + "/" + file + ".pt", real + "/" + file + ".inputs.pt", {}});
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODELS_DIR REAL_MODELS_DIR [results.json [NAME]]\n", argv[0]);
    return 2;
  }
  at::set_num_threads(1);
  const std::string only = argc > 4 ? argv[4] : "";
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::printf("%-36s %16s %12s %8s\n", "model, one thread", "interpreter, us", "Stator, us", "times");
  for (const Case& c : make_cases(argv[1], argv[2])) {
    if ((c.name + c.model).find(only) == std::string::npos) continue;
    auto row = measure(c);
    std::printf("%-36s %16.2f %12.2f %8.2f\n", c.name.c_str(), row["interpreter_us"].get<double>(),
                row["stator_us"].get<double>(), row["ratio"].get<double>());
    std::fflush(stdout);
    results.push_back(std::move(row));
  }
  if (argc > 3) std::ofstream(argv[3]) << results.dump(2) << "\n";
  return 0;
}
