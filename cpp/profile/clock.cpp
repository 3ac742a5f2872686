#include "profile/clock.h"

#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stator {

#if defined(__x86_64__)
namespace {

bool counter_is_steady() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariantCounter = 1U << 8;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & kInvariantCounter) != 0;
}

}  // namespace

const bool kCounterIsSteady = counter_is_steady();
#endif

namespace {

using System = std::chrono::steady_clock;

struct Reading {
  System::time_point time = System::now();
  Ticks count = ticks();
};

// Taken when the library is loaded, so that the first use rarely has to wait.
const Reading first_reading;

double measure() {
  constexpr auto kLongEnough = std::chrono::milliseconds(4);  // a reading is off by some 50 ns
  const auto passed = System::now() - first_reading.time;
  if (passed < kLongEnough) std::this_thread::sleep_for(kLongEnough - passed);
  const Reading now;
  return std::chrono::duration<double, std::nano>(now.time - first_reading.time).count() /
         static_cast<double>(now.count - first_reading.count);
}

}  // namespace

double nanoseconds_per_tick() {
  static const double measured = measure();
  return measured;
}

}  // namespace stator
