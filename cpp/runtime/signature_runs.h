// Picks the plan of each run of a method in one runtime: the signature plan that fits what goes in, else the dynamic plan. On the second
// sight of a signature the dynamic plan's run is recorded, and a signature plan is made of it, at once or after a longer run.
#pragma once

#include <memory>
#include <vector>

#include "plan/signature_table.h"
#include "runtime/bound_frame.h"
#include "runtime/module.h"
#include "runtime/signature_cache.h"

namespace stator {

class SignatureRuns {
 public:
  // All outlive it.
  SignatureRuns(Frame& frame, MemoryBlock& workspace, const StaticMethod& method, RunMetrics& metrics,
                const RuntimeOptions& options);

  // The plan of the last run, if that has only kernels and did not leave them; else NULL. What goes into it was the same until `run()` or
  // `trim()` is called again.
  BoundFrame* only_kernels() const { return only_kernels_; }

  // As execute(). The frame's inputs and outputs are in place, its workspace is placed here. Throws if the method is strict and there is no
  // plan for them.
  void run(State& state);
  // Between runs: plans are taken from the cache again.
  void trim() {
    only_kernels_ = nullptr;
    table_.clear();
    frames_.clear();
  }

 private:
  // Ready frames a runtime keeps for a method: as many as the cache has plans.
  static constexpr size_t kMostFrames = 64;

  BoundFrame* kept(const RunValues& values);
  BoundFrame& keep(std::shared_ptr<const SignaturePlan> plan);
  void run_bound(BoundFrame& bound, State& state);
  // `later`: no plan is made of it now.
  void run_recorded(InputSignature signature, State& state, bool later);
  void make_plan(const InputSignature& signature, const Recording& recording);
  void run_dynamic(State& state);
  void run_strict(const InputSignature& signature, State& state);

  Frame& frame_;
  MemoryBlock& workspace_;
  SignatureCache& cache_;
  RunMetrics& metrics_;
  const int threads_;
  const bool warms_up_;
  const bool strict_;
  std::vector<int32_t> state_read_;
  SignatureTable table_{kMostFrames};
  std::vector<std::unique_ptr<BoundFrame>> frames_;  // in the table's places
  BoundFrame* only_kernels_ = nullptr;
};

}  // namespace stator
