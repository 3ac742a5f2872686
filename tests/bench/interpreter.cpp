// Stator through its C ABI against TorchScript's interpreter, frozen, in one process: the same inputs, one thread, batches of runs that
// take turns, so that a machine that drifts is the same for both. Prints a table and writes JSON.
//
//   stator_bench_interpreter MODELS_DIR [results.json]
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

// A method bound to its inputs, ready to run.
class Runner {
 public:
  Runner(const std::string& path, const std::vector<at::Tensor>& inputs) {
    check(stator_module_load(path.c_str(), nullptr, &module_));
    check(stator_module_find_method(module_, "forward", &forward_));
    stator_options* options = nullptr;
    check(stator_options_create(&options));
    check(stator_options_set_int(options, "intra_op_threads", 1));
    check(stator_runtime_create(module_, options, &runtime_));
    stator_options_release(options);
    check(stator_arena_create(module_, nullptr, &arena_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      check(stator_runtime_bind(runtime_, forward_, static_cast<int32_t>(i), inputs[i].data_ptr(), STATOR_FLOAT32,
                                STATOR_CPU, static_cast<int32_t>(inputs[i].dim()), inputs[i].sizes().data(),
                                inputs[i].strides().data()));
    }
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
  stator_module* module_ = nullptr;
  const stator_method* forward_ = nullptr;
  stator_runtime* runtime_ = nullptr;
  stator_arena* arena_ = nullptr;
};

struct Case {
  const char* name;
  const char* file;
  std::vector<std::vector<int64_t>> shapes;
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

nlohmann::ordered_json measure(const Case& c, const std::string& folder) {
  std::vector<at::Tensor> inputs;
  for (const auto& shape : c.shapes) inputs.push_back(at::randn(shape));
  std::vector<c10::IValue> values(inputs.begin(), inputs.end());

  auto scripted = torch::jit::load(folder + "/" + c.file);
  scripted.eval();
  auto frozen = torch::jit::freeze(scripted);
  Runner ours(folder + "/" + c.file, inputs);

  c10::InferenceMode inference;
  auto theirs = [&] { frozen.forward(values); };
  auto mine = [&] { ours.run(); };
  for (int i = 0; i < 20; ++i) theirs(), mine();
  double difference = (frozen.forward(values).toTensor() - ours.output()).abs().max().item<double>();

  constexpr double kBatchMicroseconds = 2000;
  int runs = std::max(1, static_cast<int>(kBatchMicroseconds / time_batch(theirs, 200)));
  std::vector<double> interpreter, stator;
  for (int batch = 0; batch < 101; ++batch) {
    interpreter.push_back(time_batch(theirs, runs));
    stator.push_back(time_batch(mine, runs));
  }
  return {{"model", c.name},
          {"interpreter_us", median(interpreter)},
          {"stator_us", median(stator)},
          {"ratio", median(interpreter) / median(stator)},
          {"largest_difference", difference}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODELS_DIR [results.json]\n", argv[0]);
    return 2;
  }
  at::set_num_threads(1);
  const std::vector<Case> cases{
      {"DeepAndWide, batch 1", "deep_and_wide.pt", {{1, 1, 32}, {1, 1, 32}, {1, 50}}},
      {"DeepAndWide, batch 20", "deep_and_wide.pt", {{20, 1, 32}, {20, 1, 32}, {20, 50}}},
      {"MLP 128-256-256-10, batch 1", "mlp.pt", {{1, 128}}},
      {"sigmoid(x * y + x), 64 floats", "add_mul.pt", {{64}, {64}}},
  };
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::printf("%-32s %16s %12s %8s\n", "model, one thread", "interpreter, us", "Stator, us", "times");
  for (const Case& c : cases) {
    auto row = measure(c, argv[1]);
    std::printf("%-32s %16.2f %12.2f %8.2f\n", c.name, row["interpreter_us"].get<double>(),
                row["stator_us"].get<double>(), row["ratio"].get<double>());
    results.push_back(std::move(row));
  }
  if (argc > 2) std::ofstream(argv[2]) << results.dump(2) << "\n";
  return 0;
}
