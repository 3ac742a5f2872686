// The demo's oracle: runs the model chunk by chunk in TorchScript's interpreter, one thread, inference mode.
//
//   vad_reference MODEL DIR
//
// Reads DIR/chunks.f32, writes DIR/reference.f32 (one probability per chunk, from the module as loaded) and prints the
// times as JSON: the module as loaded, and frozen, which is the interpreter at its best. They take turns, pass by pass.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
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

struct Pass {
  std::vector<float> probabilities;
  double us_per_chunk;
};

// The whole recording once, from a fresh state. Resetting is not timed.
Pass run_pass(torch::jit::Module& module, std::vector<float>& samples) {
  module.get_method("reset_states")({});
  auto forward = module.get_method("forward");
  Pass pass;
  pass.probabilities.reserve(samples.size() / kChunk);

  const auto start = std::chrono::steady_clock::now();
  for (size_t offset = 0; offset < samples.size(); offset += kChunk) {
    const auto chunk = torch::from_blob(samples.data() + offset, {1, kChunk});
    pass.probabilities.push_back(forward({chunk, kSampleRate}).toTensor().item<float>());
  }
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  pass.us_per_chunk = elapsed.count() / static_cast<double>(pass.probabilities.size());
  return pass;
}

void run(const std::string& model, const std::string& folder) {
  at::set_num_threads(1);
  const c10::InferenceMode inference_mode;
  auto samples = read_floats(folder + "/chunks.f32");
  auto module = torch::jit::load(model);
  module.eval();
  auto frozen = torch::jit::freeze(module.deepcopy(), std::vector<std::string>{"reset_states"});

  double fastest = std::numeric_limits<double>::infinity();
  double fastest_frozen = fastest;
  std::vector<float> probabilities;
  for (int i = 0; i < kWarmUpPasses + kPasses; ++i) {
    auto pass = run_pass(module, samples);
    const auto frozen_pass = run_pass(frozen, samples);
    if (i >= kWarmUpPasses) {
      fastest = std::min(fastest, pass.us_per_chunk);
      fastest_frozen = std::min(fastest_frozen, frozen_pass.us_per_chunk);
    }
    probabilities = std::move(pass.probabilities);
  }
  write_floats(folder + "/reference.f32", probabilities);
  std::printf("{\"us_per_chunk\": %.3f, \"frozen_us_per_chunk\": %.3f, \"passes\": %d}\n", fastest, fastest_frozen, kPasses);
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
