#include "profile/metrics.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(LatencyBuckets, each_holds_what_is_below_its_bound_and_not_below_the_last) {
  for (int i = 1; i < LatencyBuckets::kCount; ++i) {
    EXPECT_LT(LatencyBuckets::upper_bound(i - 1), LatencyBuckets::upper_bound(i));
    EXPECT_EQ(LatencyBuckets::index(LatencyBuckets::upper_bound(i) - 1), i);
    EXPECT_EQ(LatencyBuckets::index(LatencyBuckets::upper_bound(i - 1)), i);
  }
  EXPECT_EQ(LatencyBuckets::index(0), 0);
  EXPECT_EQ(LatencyBuckets::index(uint64_t{1} << 40), LatencyBuckets::kCount);
}

TEST(MetricsGroup, keeps_what_members_counted_but_not_what_they_held) {
  MetricsGroup group;
  auto member = std::make_shared<RunMetrics>();
  group.join(member);
  member->succeeded(1000);
  member->succeeded();
  member->failed(ErrorCode::kBusy);
  member->set_workspace_bytes(64);
  EXPECT_EQ(group.totals().workspace_bytes, 64);
  group.leave(member);
  const MetricsTotals totals = group.totals();
  EXPECT_EQ(totals.runs, 2);
  EXPECT_EQ(totals.timed, 1);
  EXPECT_EQ(totals.failures.at(102), 1);
  EXPECT_EQ(totals.runtimes, 0);
  EXPECT_EQ(totals.workspace_bytes, 0);
}

TEST(MetricsTotals, a_quantile_is_the_bound_of_the_bucket_that_holds_it) {
  MetricsTotals totals;
  EXPECT_EQ(totals.latency_quantile(0.5), 0);
  totals.timed = 10;
  totals.latency[3] = 9;
  totals.latency[7] = 1;
  EXPECT_EQ(totals.latency_quantile(0.9), LatencyBuckets::upper_bound(3));
  EXPECT_EQ(totals.latency_quantile(0.99), LatencyBuckets::upper_bound(7));
}

}  // namespace
}  // namespace stator
