// Calls of the dynamic plan by bound kernels, for operators that are much slower in LibTorch: each call is bound anew, for the shapes that it
// meets. So are runs that have no signature plan: the first ones, and those of models that meet too many shapes to have a plan for each.
#pragma once

#include <memory>

#include "ops/registry.h"
#include "plan/packed_weights.h"

namespace stator {

// `otherwise`, with kernels before it if the node's operator is one of those; calls that they are not for, or fail in, are as before.
Implementation with_bound_kernels(const Node& node, Implementation otherwise, std::shared_ptr<PackedWeights> packed);

}  // namespace stator
