#include "profile/metrics.h"

#include <algorithm>
#include <cmath>

namespace stator {

MetricsTotals& MetricsTotals::operator+=(const MetricsTotals& other) {
  runtimes += other.runtimes;
  runs += other.runs;
  timed += other.timed;
  for (const auto& [code, count] : other.failures) failures[code] += count;
  for (size_t i = 0; i < latency.size(); ++i) latency[i] += other.latency[i];
  nanoseconds += other.nanoseconds;
  workspace_bytes += other.workspace_bytes;
  plan_hits += other.plan_hits;
  plan_misses += other.plan_misses;
  plan_builds += other.plan_builds;
  return *this;
}

int64_t MetricsTotals::latency_quantile(double fraction) const {
  if (timed == 0) return 0;
  const auto rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(fraction * static_cast<double>(timed))));
  int64_t below = 0;
  int index = 0;
  while (index < LatencyBuckets::kCount && (below += latency[index]) < rank) ++index;
  return LatencyBuckets::upper_bound(std::min(index, LatencyBuckets::kCount - 1));
}

void RunMetrics::failed(ErrorCode code) {
  std::lock_guard lock(failures_mutex_);
  ++failures_[static_cast<int32_t>(code)];
}

MetricsTotals RunMetrics::totals() const {
  MetricsTotals out;
  out.runtimes = 1;
  for (size_t i = 0; i < latency_.size(); ++i) {
    out.latency[i] = latency_[i].load(std::memory_order_relaxed);
    out.timed += out.latency[i];
  }
  out.runs = out.timed + not_timed_.load(std::memory_order_relaxed);
  out.nanoseconds = nanoseconds_.load(std::memory_order_relaxed);
  out.workspace_bytes = workspace_bytes_.load(std::memory_order_relaxed);
  out.plan_hits = plan_hits_.load(std::memory_order_relaxed);
  out.plan_misses = plan_misses_.load(std::memory_order_relaxed);
  out.plan_builds = plan_builds_.load(std::memory_order_relaxed);
  std::lock_guard lock(failures_mutex_);
  out.failures = failures_;
  return out;
}

void MetricsGroup::join(std::shared_ptr<const RunMetrics> member) {
  std::lock_guard lock(mutex_);
  members_.push_back(std::move(member));
}

void MetricsGroup::leave(const std::shared_ptr<const RunMetrics>& member) {
  MetricsTotals counted = member->totals();
  counted.runtimes = 0;
  counted.workspace_bytes = 0;
  std::lock_guard lock(mutex_);
  std::erase(members_, member);
  gone_ += counted;
}

MetricsTotals MetricsGroup::totals() const {
  std::lock_guard lock(mutex_);
  MetricsTotals out = gone_;
  for (const auto& member : members_) out += member->totals();
  return out;
}

}  // namespace stator
