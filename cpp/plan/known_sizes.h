// Sizes that are known before any run: of factories with constant sizes, and of whatever is computed from these, from constants and from
// inputs whose shapes the caller has declared. Found by calling the operators on LibTorch's meta device, which has shapes and no elements.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "analysis/aliases.h"
#include "plan/plan.h"

namespace stator {

// Writes what can be known into the plan's observed sizes. `inputs`: by the graph's inputs, on the meta device; undefined or missing: unknown.
void learn_sizes(const Plan& plan, const Aliases& aliases, const std::vector<at::Tensor>& inputs = {});

}  // namespace stator
