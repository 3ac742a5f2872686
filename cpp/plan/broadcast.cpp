#include "plan/broadcast.h"

namespace stator {
namespace {

int64_t size_from_end(at::IntArrayRef sizes, size_t d) { return d < sizes.size() ? sizes[sizes.size() - 1 - d] : 1; }

// One loop, innermost first.
struct Loop {
  int64_t size;
  std::array<int64_t, 2> steps;

  // The next dimension outwards goes on where this loop ends, for both inputs.
  bool continued_by(const std::array<int64_t, 2>& next) const {
    return next[0] == steps[0] * size && next[1] == steps[1] * size;
  }
};

}  // namespace

std::optional<TwoLoops> broadcast(at::IntArrayRef a, at::IntArrayRef b) {
  TwoLoops out;
  c10::SmallVector<Loop, 4> loops;
  std::array<int64_t, 2> walked{1, 1};  // elements of each input in the dimensions so far
  for (size_t d = 0; d < std::max(a.size(), b.size()); ++d) {
    const int64_t size_a = size_from_end(a, d), size_b = size_from_end(b, d);
    if (size_a != size_b && size_a != 1 && size_b != 1) return std::nullopt;
    const int64_t size = size_a == 1 ? size_b : size_a;
    if (size == 0) return std::nullopt;
    out.sizes.insert(out.sizes.begin(), size);
    if (size == 1) continue;
    const std::array<int64_t, 2> steps{size_a == 1 ? 0 : walked[0], size_b == 1 ? 0 : walked[1]};
    walked = {walked[0] * size_a, walked[1] * size_b};
    if (!loops.empty() && loops.back().continued_by(steps)) {
      loops.back().size *= size;
    } else {
      loops.push_back({size, steps});
    }
  }
  if (loops.size() > 2) return std::nullopt;
  if (!loops.empty()) out.run = loops[0].size, out.inner = loops[0].steps;
  if (loops.size() == 2) out.runs = loops[1].size, out.outer = loops[1].steps;
  return out;
}

}  // namespace stator
