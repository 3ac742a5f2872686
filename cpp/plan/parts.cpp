#include "plan/parts.h"

#include <algorithm>

namespace stator {

int64_t parts_of_work(double nanoseconds, int threads) {
  constexpr double kLeastPart = 10'000;
  return static_cast<int64_t>(std::clamp(nanoseconds / kLeastPart, 1.0, static_cast<double>(std::max(threads, 1))));
}

}  // namespace stator
