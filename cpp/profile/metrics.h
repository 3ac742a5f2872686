// Metrics: what the runs of a module come to, for those who watch a service.
//
// Each runtime counts for itself (RunMetrics), so runs in many threads share no cache line; a MetricsGroup adds up the runtimes it has, and
// keeps what those that are gone have counted.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/error.h"
#include "profile/clock.h"

namespace stator {

// Buckets of latencies: two for each doubling, from 128 ns to 68 s.
struct LatencyBuckets {
  static constexpr int kFirstDoubling = 7;
  static constexpr int kCount = 2 * (36 - kFirstDoubling);

  static int index(uint64_t nanoseconds) {
    if (nanoseconds < (1U << kFirstDoubling)) return 0;
    const int doubling = std::bit_width(nanoseconds) - 1;
    const int upper_half = static_cast<int>(nanoseconds >> (doubling - 1) & 1);
    const int found = 2 * (doubling - kFirstDoubling) + upper_half;
    return found < kCount ? found : kCount;
  }
  // In nanoseconds; the last bucket, number kCount, has none.
  static int64_t upper_bound(int index) {
    const int64_t doubling = int64_t{1} << (kFirstDoubling + index / 2);
    return index % 2 ? 2 * doubling : doubling + doubling / 2;
  }
};

struct MetricsTotals {
  int64_t runtimes = 0;                 // alive
  int64_t runs = 0;                     // that succeeded
  int64_t timed = 0;                    // of these
  std::map<int32_t, int64_t> failures;  // by code
  std::array<int64_t, LatencyBuckets::kCount + 1> latency{};
  int64_t nanoseconds = 0;  // of those that were timed
  int64_t workspace_bytes = 0;
  int64_t plan_hits = 0;
  int64_t plan_misses = 0;
  int64_t plan_builds = 0;

  MetricsTotals& operator+=(const MetricsTotals& other);
  // An estimate in nanoseconds: where the bucket that holds it ends. 0 without runs.
  int64_t latency_quantile(double fraction) const;
};

// Of one runtime. Only the run that is under way writes, but for refused calls, which may come from any thread.
class RunMetrics {
 public:
  void succeeded(Ticks length) {
    const auto nanoseconds = static_cast<int64_t>(static_cast<double>(length) * nanoseconds_per_tick_);
    add(latency_[LatencyBuckets::index(static_cast<uint64_t>(nanoseconds))], 1);
    add(nanoseconds_, nanoseconds);
  }
  void succeeded() { add(not_timed_, 1); }
  void failed(ErrorCode code);
  int64_t workspace_bytes() const { return workspace_bytes_.load(std::memory_order_relaxed); }
  void set_workspace_bytes(int64_t bytes) { workspace_bytes_.store(bytes, std::memory_order_relaxed); }
  void plan_hit() { add(plan_hits_, 1); }
  void plan_miss() { add(plan_misses_, 1); }
  void plan_built() { add(plan_builds_, 1); }

  MetricsTotals totals() const;

 private:
  using Counter = std::atomic<int64_t>;
  static void add(Counter& counter, int64_t amount) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  const double nanoseconds_per_tick_ = nanoseconds_per_tick();
  std::array<Counter, LatencyBuckets::kCount + 1> latency_{};
  Counter not_timed_{0};
  Counter nanoseconds_{0};
  Counter workspace_bytes_{0};
  Counter plan_hits_{0};
  Counter plan_misses_{0};
  Counter plan_builds_{0};
  mutable std::mutex failures_mutex_;
  std::map<int32_t, int64_t> failures_;
};

class MetricsGroup {
 public:
  void join(std::shared_ptr<const RunMetrics> member);
  // What the member counted stays; what it held does not.
  void leave(const std::shared_ptr<const RunMetrics>& member);
  MetricsTotals totals() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const RunMetrics>> members_;
  MetricsTotals gone_;
};

}  // namespace stator
