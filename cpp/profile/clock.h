// The cheapest steady clock there is: the processor's own counter where it runs at one rate, else the system's clock.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stator {

// Counts since some point in the past, at one rate on all processors.
using Ticks = uint64_t;

#if defined(__x86_64__)
// Not every processor's counter keeps its rate when the frequency changes; CPUID says whether it does.
extern const bool kCounterIsSteady;

inline Ticks ticks() {
  if (kCounterIsSteady) [[likely]]
    return __rdtsc();
  return static_cast<Ticks>(std::chrono::steady_clock::now().time_since_epoch().count());
}
#elif defined(__aarch64__)
inline Ticks ticks() {
  Ticks value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline Ticks ticks() { return static_cast<Ticks>(std::chrono::steady_clock::now().time_since_epoch().count()); }
#endif

// Measured against the system's clock once; the first call may sleep for some milliseconds.
double nanoseconds_per_tick();

}  // namespace stator
