// A look at a model's source code before LibTorch compiles it, which it does by recursion, on the caller's stack.
#pragma once

#include <span>

namespace stator {

// Throws Error(kBadModel) if source code in the archive is nested more deeply than any that LibTorch writes.
void check_sources(std::span<const char> archive);

}  // namespace stator
