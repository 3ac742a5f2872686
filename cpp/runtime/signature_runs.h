// Picks the plan of each run of a method in one runtime: the signature plan that fits what goes in, else the dynamic plan. On the second
// sight of a signature the dynamic plan's run is watched, and a signature plan is made of what was seen.
#pragma once

#include <memory>
#include <vector>

#include "runtime/bound_frame.h"
#include "runtime/module.h"
#include "runtime/signature_cache.h"

namespace stator {

class SignatureRuns {
 public:
  // Both outlive it.
  SignatureRuns(Frame& frame, SignatureCache& cache);

  // As execute().
  void run(State& state);

 private:
  // Ready frames a runtime keeps for a method; more signatures than that in turn are resolved again and again.
  static constexpr size_t kMostFrames = 4;

  BoundFrame* kept(const RunValues& values);
  BoundFrame& keep(std::shared_ptr<const SignaturePlan> plan);
  void run_bound(BoundFrame& bound, State& state);
  void run_watched(InputSignature signature, State& state);

  Frame& frame_;
  SignatureCache& cache_;
  std::vector<int32_t> state_read_;
  std::vector<std::unique_ptr<BoundFrame>> frames_;  // last used first
};

}  // namespace stator
