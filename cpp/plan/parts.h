// In how many parts kernels share their work among threads (kernels/parallel.h).
#pragma once

#include <cstdint>

namespace stator {

// Of work that takes one thread about so long, where a run may use so many threads. Waking threads takes microseconds: no part takes less than
// about ten.
int64_t parts_of_work(double nanoseconds, int threads);

// About what one thread takes for each multiplication of matrices that are in its caches.
constexpr double kMultiplicationNanoseconds = 1.0 / 32;

}  // namespace stator
