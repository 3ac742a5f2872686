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

// For parts that wait for one another: calls body(whole, first, end) for ranges that make up [0, parts), all at the same time and each in a
// thread of its own; for all parts at once where there is only one thread.
void run_parts_together(int64_t parts, void (*body)(const void* whole, int64_t first, int64_t end), const void* whole);

// Where parts that run together wait until all have come, any number of times.
class Barrier {
 public:
  explicit Barrier(int64_t parts);

  // Comes for so many parts, and goes on when the others are there.
  void wait(int64_t parts);

 private:
  const int64_t parts_;
  alignas(64) int64_t came_ = 0;  // all times together; a cache line of its own, because everybody watches it
};

}  // namespace stator
