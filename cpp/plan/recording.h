// Recording: what one run of a dynamic plan did: which instructions, and what the tensors that they gave looked like.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"
#include "plan/tensor_meta.h"

namespace stator {

struct Recording {
  // Longer runs are recorded up to here.
  static constexpr size_t kMostSteps = 8192;

  struct Step {
    int32_t pc;
    std::vector<std::optional<TensorMeta>> outputs;  // of calls and LoadState: plain tensors only
  };
  std::vector<Step> steps;
  bool complete = true;  // false: there was more than kMostSteps
};

}  // namespace stator
