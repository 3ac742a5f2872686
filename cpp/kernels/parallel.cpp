#include "kernels/parallel.h"

#include <ATen/Parallel.h>

#include <sched.h>

#include <algorithm>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace stator {
namespace {

#if defined(__SANITIZE_THREAD__)

// The sanitizer does not know OpenMP's barriers, but threads.
template <class F>
void invoke(int64_t count, const F& f) {
  const int64_t parts = std::min<int64_t>(count, at::get_num_threads());
  std::vector<std::thread> others;
  for (int64_t i = 1; i < parts; ++i) others.emplace_back([&, i] { f(i * count / parts, (i + 1) * count / parts); });
  f(0, count / parts);
  for (std::thread& other : others) other.join();
}

bool can_share() { return true; }

#else

#if AT_PARALLEL_OPENMP
#ifndef _OPENMP
#error "without -fopenmp LibTorch's header would silently share nothing"
#endif
// What the compiler makes of OpenMP's pragmas. Weak, and no library is named for it: it is found in the OpenMP that LibTorch itself uses,
// whatever that is called, and a LibTorch without one does not keep us from being loaded.
extern "C" {
[[gnu::weak]] void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
[[gnu::weak]] int omp_get_num_threads(void) noexcept;
[[gnu::weak]] int omp_get_thread_num(void) noexcept;
}
bool can_share() { return GOMP_parallel && omp_get_num_threads && omp_get_thread_num; }
#else
bool can_share() { return true; }
#endif

// What at::parallel_for() calls. That one itself would first set the calling thread's number of threads anew, once in each thread: whether it
// has done so is known to each library apart.
template <class F>
void invoke(int64_t count, const F& f) {
  at::internal::invoke_parallel(0, count, 1, f);
}

#endif

template <class F>
void share(int64_t parts, const F& run) {
  const bool nested = at::in_parallel_region() || c10::ParallelGuard::is_enabled();
  if (parts < 2 || nested || !can_share() || at::get_num_threads() < 2) return run(0, parts);
  invoke(parts, [&](int64_t first, int64_t end) {
    c10::ParallelGuard guard(true);
    run(first, end);
  });
}

// Whether all that invoke() calls runs at the same time. A pool may let some wait until others are done.
#if defined(__SANITIZE_THREAD__) || AT_PARALLEL_OPENMP
constexpr bool kTogether = true;
#else
constexpr bool kTogether = false;
#endif

// Threads that are soon there are worth waiting for; others may need this very core.
constexpr int kSpins = 4096;

}  // namespace

void run_parts(int64_t parts, void (*body)(const void* whole, int64_t part), const void* whole) {
  share(parts, [=](int64_t first, int64_t end) {
    for (int64_t part = first; part < end; ++part) body(whole, part);
  });
}

void run_parts_together(int64_t parts, void (*body)(const void* whole, int64_t first, int64_t end), const void* whole) {
  if (!kTogether) return body(whole, 0, parts);
  share(parts, [=](int64_t first, int64_t end) { body(whole, first, end); });
}

Barrier::Barrier(int64_t parts) : parts_(parts) {}

void Barrier::wait(int64_t parts) {
  const int64_t before = __atomic_fetch_add(&came_, parts, __ATOMIC_ACQ_REL);
  const int64_t all = (before / parts_ + 1) * parts_;  // nobody comes again before all have come
  int spins = 0;
  while (__atomic_load_n(&came_, __ATOMIC_ACQUIRE) < all) {
    if (spins < kSpins) {
      ++spins;
      __builtin_ia32_pause();
    } else {
      sched_yield();
    }
  }
}

}  // namespace stator
