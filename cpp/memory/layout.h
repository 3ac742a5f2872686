// The vocabulary of memory planning: when a buffer is alive, and where it is placed. Planners are plain functions from one to the other.
#pragma once

#include <cstdint>
#include <vector>

namespace stator {

constexpr int64_t kArenaAlignment = 64;

constexpr int64_t align_up(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

struct Lifetime {  // instruction indices, both ends included
  int32_t first = 0;
  int32_t last = 0;
  bool meets(Lifetime other) const { return first <= other.last && other.first <= last; }
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // one per buffer, multiples of kArenaAlignment
  int64_t bytes = 0;             // size of the arena
};

}  // namespace stator
