#include "memory/greedy_by_size.h"

#include <algorithm>
#include <numeric>

namespace stator {
namespace {

struct Placed {
  int64_t offset;
  int64_t bytes;
};

// The smallest hole between buffers that are in the way, sorted by offset; behind them if there is none.
int64_t find_hole(const std::vector<Placed>& in_the_way, int64_t bytes) {
  int64_t best = -1, best_bytes = 0, end = 0;
  for (const Placed& placed : in_the_way) {
    const int64_t hole = placed.offset - end;
    if (hole >= bytes && (best < 0 || hole < best_bytes)) best = end, best_bytes = hole;
    end = std::max(end, placed.offset + placed.bytes);
  }
  return best >= 0 ? best : end;
}

}  // namespace

ArenaLayout greedy_by_size(std::span<const BufferSpec> buffers) {
  std::vector<size_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  ArenaLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  std::vector<size_t> placed;  // by offset
  std::vector<Placed> in_the_way;
  for (size_t buffer : by_size) {
    const int64_t bytes = align_up(buffers[buffer].bytes);
    in_the_way.clear();
    for (size_t other : placed) {
      if (buffers[other].lifetime.meets(buffers[buffer].lifetime))
        in_the_way.push_back({layout.offsets[other], align_up(buffers[other].bytes)});
    }
    const int64_t offset = find_hole(in_the_way, bytes);
    layout.offsets[buffer] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    const auto behind = std::upper_bound(placed.begin(), placed.end(), offset,
                                         [&](int64_t at, size_t other) { return at < layout.offsets[other]; });
    placed.insert(behind, buffer);
  }
  return layout;
}

int64_t largest_live_set(std::span<const BufferSpec> buffers) {
  int64_t largest = 0;
  for (const BufferSpec& at : buffers) {
    int64_t live = 0;
    for (const BufferSpec& other : buffers) {
      if (other.lifetime.first <= at.lifetime.first && at.lifetime.first <= other.lifetime.last)
        live += align_up(other.bytes);
    }
    largest = std::max(largest, live);
  }
  return largest;
}

}  // namespace stator
