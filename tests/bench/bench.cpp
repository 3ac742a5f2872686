// Runs one model in one way, and times it when it is told to. tests/bench/bench.py starts one such process for each peer and gives them
// turns; worker.py is the same for the peers of Python.
//
//   stator_bench PEER MODEL_STEM THREADS
//
// First a line of JSON: {"peer", "load_us", "first_us", "peak_kb", "errors": {"cold", "warm", "others", "after_others"}}, or {"failed"}.
// Then for each line "WARM SAMPLES RUNS" read: WARM runs without looking at the clock, and a line with SAMPLES numbers, each the microseconds of one
// run, averaged over RUNS runs one after another. Ends with its input.
#include "bench/peer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/model_data.h"

namespace {

using namespace stator::bench;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// A line of /proc/self/status in kB.
int64_t memory_of_process(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kb = 0;
  while (status >> word)
    if (word == name + ":" && status >> kb) return kb;
  return 0;
}

void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

const PeerKind& kind_named(const std::string& name) {
  for (const PeerKind& kind : peer_kinds())
    if (kind.name == name) return kind;
  throw std::runtime_error("no peer \"" + name + "\" in this program");
}

// Runs on each of the other shapes twice, for plans that are made at second sight; then on the first again.
Json errors_with_other_shapes(Peer& peer, const ModelData& data) {
  double others = 0;
  for (const auto& other : data.others) {
    peer.set_inputs(other.inputs);
    for (int time = 0; time < 2; ++time) {
      peer.run(1);
      others = std::max(others, largest_error(peer.outputs(), other.outputs));
    }
  }
  peer.set_inputs(data.inputs);
  peer.run(1);
  return {{"others", others}, {"after_others", largest_error(peer.outputs(), data.cold)}};
}

std::unique_ptr<Peer> open(const PeerKind& kind, const PeerSettings& settings, const ModelData& data, Json& report) {
  if (kind.prepare) kind.prepare();
  at::ones({64, 64}).mm(at::ones({64, 64}));  // LibTorch's own first steps
  forget_peak_memory();
  const int64_t before = memory_of_process("VmRSS");

  auto start = Clock::now();
  std::unique_ptr<Peer> peer = kind.make(settings);
  report["load_us"] = microseconds_since(start);
  start = Clock::now();
  peer->set_inputs(data.inputs);
  peer->run(1);
  report["first_us"] = microseconds_since(start);
  Json errors{{"cold", largest_error(peer->outputs(), data.cold)}};
  peer->run(kWarmCall);
  errors["warm"] = largest_error(peer->outputs(), data.warm);
  report["peak_kb"] = memory_of_process("VmHWM") - before;
  if (peer->takes_other_shapes() && !data.others.empty()) errors.update(errors_with_other_shapes(*peer, data));
  report["errors"] = errors;
  return peer;
}

Json time_turn(Peer& peer, int warm, int samples, int runs) {
  peer.run(warm);
  std::vector<double> times(static_cast<size_t>(samples));
  for (double& time : times) {
    const auto start = Clock::now();
    peer.run(runs);
    time = microseconds_since(start) / runs;
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s PEER MODEL_STEM THREADS; peers:", argv[0]);
    for (const PeerKind& kind : peer_kinds()) std::fprintf(stderr, " %s", kind.name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  Json report{{"peer", argv[1]}};
  std::unique_ptr<Peer> peer;
  try {
    const PeerSettings settings{argv[2], std::stoi(argv[3])};
    at::set_num_threads(settings.threads);
    peer = open(kind_named(argv[1]), settings, read_model_data(settings.stem + ".data"), report);
  } catch (const std::exception& error) {
    report = {{"peer", argv[1]}, {"failed", error.what()}};
  }
  std::cout << report.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  int warm = 0, samples = 0, runs = 0;
  while (peer && std::cin >> warm >> samples >> runs)
    std::cout << time_turn(*peer, warm, samples, runs).dump() << std::endl;
  return peer ? 0 : 1;
}
