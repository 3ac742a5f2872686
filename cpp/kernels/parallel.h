// How kernels share large work among threads.
//
// A specification says in how many parts: that is decided when a plan is made, from how much there is to do and how many threads runs may
// use. One part is done where the kernel was called, without asking anything. Parts never cut a sum, so results do not depend on them.
#pragma once

#include <cstdint>

namespace stator {

// Calls body(whole, part) for each part 0 .. parts - 1 and comes back when all are done. It is LibTorch's threads that take them: as many as the
// calling thread may use now, and none but itself if it is within parallel work already. `body` must not throw.
void run_parts(int64_t parts, void (*body)(const void* whole, int64_t part), const void* whole);

}  // namespace stator
