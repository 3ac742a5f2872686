// What it costs to see that the inputs of a run have a signature that was seen before: stator_matching prints nanoseconds.
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "plan/signature_table.h"

namespace {

using stator::InputSignature;
using stator::RunValues;
using stator::SignatureTable;

constexpr int kTurns = 200, kRuns = 2000;

// The least of many turns, in which `values` take turns.
double nanoseconds(SignatureTable& table, const std::vector<RunValues>& values) {
  double least = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < kRuns; ++run) {
      for (const RunValues& one : values) {
        const size_t place = table.find(one);
        asm volatile("" : : "r"(place) : "memory");
      }
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count() / (kRuns * static_cast<double>(values.size())));
  }
  return least;
}

std::vector<c10::IValue> inputs(int64_t batch) {
  return {at::ones({batch, 1, 32}), at::ones({batch, 1, 32}), at::ones({batch, 50})};
}

}  // namespace

int main() {
  constexpr size_t kSignatures = 64;
  std::vector<std::vector<c10::IValue>> known;
  std::vector<InputSignature> signatures;
  std::vector<RunValues> values;
  known.reserve(kSignatures);
  signatures.reserve(kSignatures);
  SignatureTable table(kSignatures);
  for (size_t i = 0; i < kSignatures; ++i) {
    values.push_back({known.emplace_back(inputs(static_cast<int64_t>(i) + 1)), {}, {}, 1});
    table.insert(signatures.emplace_back(values.back()));
  }
  std::printf("three inputs, the signature of the last run: %.1f ns\n", nanoseconds(table, {values.front()}));
  std::printf("three inputs, 64 signatures in turns: %.1f ns\n", nanoseconds(table, values));
}
