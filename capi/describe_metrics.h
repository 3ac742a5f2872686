// Metrics as JSON and in Prometheus' text format; and which modules and pools there are.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "profile/metrics.h"
#include "runtime/module.h"

namespace stator::capi {

// What a pool counts. Outlives the pool for the moment of a report.
struct PoolMetrics {
  std::shared_ptr<const StaticModule> module;
  int64_t limit = 0;
  MetricsGroup runs;  // of its runtimes
  std::atomic<int64_t> lent{0};
  std::atomic<int64_t> refused{0};
};

// Reports cover what was added here and is still alive; each gets a number.
void add_to_metrics(const std::shared_ptr<const StaticModule>& module);
void add_to_metrics(const std::shared_ptr<const PoolMetrics>& pool);

std::string metrics_json(const StaticModule& module);
std::string metrics_json(const PoolMetrics& pool);
std::string metrics_prometheus();

}  // namespace stator::capi
