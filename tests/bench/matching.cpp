// What it costs to see that the inputs of a run have a signature that was seen before: stator_matching prints nanoseconds.
#include <ATen/ops/ones.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "plan/signature.h"

namespace {

using stator::InputSignature;
using stator::RunValues;

constexpr int kTurns = 200, kRuns = 2000;

// The least of many turns: of looking at `count` signatures, the last of which fits.
double nanoseconds(const std::vector<InputSignature>& signatures, const RunValues& values) {
  double least = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < kRuns; ++run) {
      bool fits = false;
      for (const InputSignature& signature : signatures) fits = signature.matches(values);
      asm volatile("" : : "r"(fits) : "memory");
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count() / kRuns);
  }
  return least;
}

std::vector<c10::IValue> inputs(int64_t batch) {
  return {at::ones({batch, 1, 32}), at::ones({batch, 1, 32}), at::ones({batch, 50})};
}

}  // namespace

int main() {
  const std::vector<c10::IValue> wanted = inputs(1);
  const RunValues values{wanted, {}, {}, 1};
  std::vector<InputSignature> signatures{InputSignature(values)};
  std::printf("three inputs, the signature of the last run: %.1f ns\n", nanoseconds(signatures, values));
  for (int64_t batch = 2; batch <= 16; ++batch) {
    const std::vector<c10::IValue> other = inputs(batch);
    signatures.insert(signatures.begin(), InputSignature(RunValues{other, {}, {}, 1}));
  }
  std::printf("three inputs, the signature of sixteen runs ago: %.1f ns\n", nanoseconds(signatures, values));
}
