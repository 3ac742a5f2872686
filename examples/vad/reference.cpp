// The demo's oracle: runs the model chunk by chunk in TorchScript's interpreter, one thread, inference mode.
//
//   vad_reference MODEL DIR
//
// Reads DIR/chunks.f32, writes DIR/reference.f32 (one probability per chunk, from the module as loaded) and prints the
// times as JSON: the module as loaded, and frozen, which is the interpreter at its best; they take turns, pass by pass.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <torch/script.h>

namespace {

constexpr int64_t kChunk = 512;
constexpr int64_t kSampleRate = 16000;
constexpr int kWarmUpPasses = 2;  // the interpreter profiles, then optimizes
constexpr int kPasses = 5;

std::vector<float> read_floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty() || bytes.size() % (kChunk * sizeof(float)) != 0) {
    throw std::runtime_error(path + ": expected chunks of 512 float32, got " + std::to_string(bytes.size()) + " bytes");
  }
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(floats.data()));
  return floats;
}

void write_floats(const std::string& path, const std::vector<float>& floats) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(floats.data()), static_cast<std::streamsize>(floats.size() * sizeof(float)));
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

class Runner {
 public:
  Runner(torch::jit::Module module, std::vector<float>& samples)
      : module_(std::move(module)),
        samples_(samples),
        probabilities_(samples.size() / kChunk),
        fastest_(probabilities_.size(), std::numeric_limits<double>::infinity()) {}

  // The whole recording once, from a fresh state. Resetting is not timed.
  void run_pass(bool counts) {
    module_.get_method("reset_states")({});
    auto forward = module_.get_method("forward");
    for (size_t i = 0; i < probabilities_.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      const auto chunk = torch::from_blob(samples_.data() + i * kChunk, {1, kChunk});
      probabilities_[i] = forward({chunk, kSampleRate}).toTensor().item<float>();
      const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
      if (counts) fastest_[i] = std::min(fastest_[i], elapsed.count());
    }
  }

  const std::vector<float>& probabilities() const { return probabilities_; }

  // The mean over the chunks of the least time each took.
  double us_per_chunk() const {
    return std::accumulate(fastest_.begin(), fastest_.end(), 0.0) / static_cast<double>(fastest_.size());
  }

 private:
  torch::jit::Module module_;
  std::vector<float>& samples_;
  std::vector<float> probabilities_;
  std::vector<double> fastest_;
};

void run(const std::string& model, const std::string& folder) {
  at::set_num_threads(1);
  const c10::InferenceMode inference_mode;
  auto samples = read_floats(folder + "/chunks.f32");
  auto module = torch::jit::load(model);
  module.eval();
  auto frozen = torch::jit::freeze(module.deepcopy(), std::vector<std::string>{"reset_states"});

  Runner as_loaded(module, samples);
  Runner at_its_best(frozen, samples);
  for (int i = 0; i < kWarmUpPasses + kPasses; ++i) {
    as_loaded.run_pass(i >= kWarmUpPasses);
    at_its_best.run_pass(i >= kWarmUpPasses);
  }
  write_floats(folder + "/reference.f32", as_loaded.probabilities());
  std::printf("{\"us_per_chunk\": %.3f, \"frozen_us_per_chunk\": %.3f, \"passes\": %d}\n", as_loaded.us_per_chunk(),
              at_its_best.us_per_chunk(), kPasses);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: vad_reference MODEL DIR\n";
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const c10::Error& error) {
    std::cerr << "vad_reference: " << error.what_without_backtrace() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "vad_reference: " << error.what() << '\n';
    return 1;
  }
}
