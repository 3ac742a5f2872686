// Strict mode: `forward` runs on the one signature that was declared at load, in a plan of bound kernels alone, so that a run of bound inputs
// allocates nothing, in LibTorch neither.
#pragma once

#include <memory>

#include "runtime/module.h"

namespace stator {

// Makes the plan for runs with so many threads, unless there is one. Throws Error(kUnsupported) with what stands in the way, node by node, or
// Error(kInvalidArgument) if the signature is not declared whole.
void make_strict(const std::shared_ptr<StaticModule>& module, int threads);

}  // namespace stator
