// Places every buffer, largest first, in the smallest hole that is free for its whole lifetime.
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), algorithm 3.
#pragma once

#include <span>

#include "memory/layout.h"

namespace stator {

struct BufferSpec {
  int64_t bytes = 0;
  Lifetime lifetime{};
};

// Offsets are multiples of kArenaAlignment; buffers whose lifetimes meet never overlap.
// Cost: O(n^2) in the number of buffers, once per plan.
ArenaLayout greedy_by_size(std::span<const BufferSpec> buffers);

// The most bytes, aligned, that are alive at once: no layout can be smaller.
int64_t largest_live_set(std::span<const BufferSpec> buffers);

}  // namespace stator
