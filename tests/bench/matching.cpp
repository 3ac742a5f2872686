// What it costs to see that the inputs of a run have a signature that was seen before: stator_matching prints nanoseconds.
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "plan/signature.h"

namespace {

using stator::InputSignature;
using stator::RunValues;

constexpr int kTurns = 200, kRuns = 2000;

// As a runtime looks among the signatures that it has plans for: the last used as it is, the others by their hashes.
bool is_known(const std::vector<InputSignature>& signatures, const std::vector<size_t>& hashes,
              const RunValues& values) {
  if (signatures.front().matches(values)) return true;
  const auto found = std::find(hashes.begin(), hashes.end(), InputSignature::hash_of(values));
  return found != hashes.end() && signatures[static_cast<size_t>(found - hashes.begin())].matches(values);
}

// The least of many turns.
double nanoseconds(const std::vector<InputSignature>& signatures, const RunValues& values) {
  std::vector<size_t> hashes;
  for (const InputSignature& signature : signatures) hashes.push_back(signature.hash());
  double least = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < kRuns; ++run) {
      const bool fits = is_known(signatures, hashes, values);
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
  for (int64_t batch = 2; batch <= 64; ++batch) {
    const std::vector<c10::IValue> other = inputs(batch);
    signatures.insert(signatures.begin(), InputSignature(RunValues{other, {}, {}, 1}));
  }
  std::printf("three inputs, one of 64 signatures, not the last: %.1f ns\n", nanoseconds(signatures, values));
}
