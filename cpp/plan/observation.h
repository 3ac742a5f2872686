// Observation: watches one run of a dynamic plan, to learn what shapes reach the nodes that a signature plan may bind.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"
#include "plan/value_descriptor.h"

namespace stator {

// For one run on one thread; the plan outlives it.
class Observation {
 public:
  explicit Observation(const Plan& plan);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // The plan's instructions with a watcher before each bindable one. Run these.
  const std::vector<Instruction>& code() const { return code_; }
  // The tensor that instruction `pc` got as its input when it last ran; NULL if it did not run, or got something else.
  const TensorMeta* seen(size_t pc, int32_t input) const;

 private:
  struct Watcher {
    OpFunction run;
    const void* data;
    std::vector<std::optional<TensorMeta>>* inputs;
  };
  static void watch(const Call& call);

  std::vector<Instruction> code_;
  std::vector<Watcher> watchers_;                             // per instruction
  std::vector<std::vector<std::optional<TensorMeta>>> seen_;  // per instruction, per input
};

}  // namespace stator
