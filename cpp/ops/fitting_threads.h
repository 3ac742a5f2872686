// Small work in one thread. Pointwise kernels of LibTorch see to that themselves; the libraries of matrix products and convolutions may start
// and join threads for work that takes a microsecond, and wait long for one that the system has not scheduled.
#pragma once

#include "ops/registry.h"

namespace stator {

// The implementation of a node, wrapped if it is one of those: how much it has to do is then estimated from the shapes of each call.
Implementation with_fitting_threads(const Node& node, Implementation implementation);

}  // namespace stator
