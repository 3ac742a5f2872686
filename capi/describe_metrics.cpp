#include "describe_metrics.h"

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "front/services.h"

namespace stator::capi {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
struct Listed {
  std::shared_ptr<const T> object;
  int64_t id = 0;
};

// Objects that reports cover, while they live.
template <class T>
class Living {
 public:
  void add(const std::shared_ptr<const T>& object) {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.object.expired(); });
    entries_.push_back({object, ++last_id_});
  }
  std::vector<Listed<T>> all() const {
    std::lock_guard lock(mutex_);
    std::vector<Listed<T>> out;
    for (const Entry& entry : entries_) {
      if (auto object = entry.object.lock()) out.push_back({std::move(object), entry.id});
    }
    return out;
  }
  int64_t id_of(const T& object) const {
    for (const Listed<T>& listed : all()) {
      if (listed.object.get() == &object) return listed.id;
    }
    return 0;
  }

 private:
  struct Entry {
    std::weak_ptr<const T> object;
    int64_t id;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  int64_t last_id_ = 0;
};

Living<StaticModule>& modules() {
  static auto& instance = *new Living<StaticModule>;
  return instance;
}

Living<PoolMetrics>& pools() {
  static auto& instance = *new Living<PoolMetrics>;
  return instance;
}

std::string code_name(int32_t code) { return stator_core_services()->status_name(code); }

Json latency_json(const MetricsTotals& totals) {
  Json buckets = Json::array();
  for (int i = 0; i < LatencyBuckets::kCount; ++i) {
    if (totals.latency[i]) buckets.push_back({LatencyBuckets::upper_bound(i), totals.latency[i]});
  }
  if (totals.latency.back()) buckets.push_back({nullptr, totals.latency.back()});
  return {{"sum_ns", totals.nanoseconds},
          {"p50_ns", totals.latency_quantile(0.5)},
          {"p90_ns", totals.latency_quantile(0.9)},
          {"p99_ns", totals.latency_quantile(0.99)},
          {"buckets", buckets}};
}

Json totals_json(const std::string& name, int64_t id, const MetricsTotals& totals) {
  Json failures = Json::object();
  for (const auto& [code, count] : totals.failures) failures[code_name(code)] = count;
  return {{"name", name},
          {"id", id},
          {"runtimes", totals.runtimes},
          {"runs", totals.runs},
          {"failures", failures},
          {"latency", latency_json(totals)},
          {"workspace_bytes", totals.workspace_bytes},
          {"plan_cache", {{"hits", totals.plan_hits}, {"misses", totals.plan_misses}, {"builds", totals.plan_builds}}}};
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

std::string escaped_for_label(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string labels_of(const std::string& name, int64_t id) {
  return "module=\"" + escaped_for_label(name) + "\",id=\"" + std::to_string(id) + "\"";
}

// One module or pool as a report sees it.
template <class T>
struct Source {
  std::shared_ptr<const T> object;
  std::string labels;
  MetricsTotals totals;
};

std::string seconds(int64_t nanoseconds) {
  Json value = static_cast<double>(nanoseconds) / 1e9;
  return value.dump();  // the shortest text that reads back as this number
}

// A page of Prometheus' text format. All samples of a family stand together, below what is said of it.
class Page {
 public:
  template <class T>
  void family(const char* name, const char* type, const char* help, const std::vector<Source<T>>& sources,
              const std::function<int64_t(const Source<T>&)>& value) {
    head(name, type, help, sources.empty());
    for (const Source<T>& source : sources) sample(name, source.labels, std::to_string(value(source)));
  }

  void failures(const std::vector<Source<StaticModule>>& sources) {
    constexpr const char* kName = "stator_failures_total";
    head(kName, "counter", "Runs that failed, and calls that were refused, by status code.", sources.empty());
    for (const auto& source : sources) {
      for (const auto& [code, count] : source.totals.failures)
        sample(kName, source.labels + ",code=\"" + code_name(code) + "\"", std::to_string(count));
    }
  }

  void latencies(const std::vector<Source<StaticModule>>& sources) {
    head("stator_run_seconds", "histogram", "How long runs that succeeded took.", sources.empty());
    for (const auto& source : sources) {
      int64_t below = 0;
      for (int i = 0; i < LatencyBuckets::kCount; ++i) {
        below += source.totals.latency[i];
        sample("stator_run_seconds_bucket", source.labels + ",le=\"" + seconds(LatencyBuckets::upper_bound(i)) + "\"",
               std::to_string(below));
      }
      sample("stator_run_seconds_bucket", source.labels + ",le=\"+Inf\"", std::to_string(source.totals.timed));
      sample("stator_run_seconds_sum", source.labels, seconds(source.totals.nanoseconds));
      sample("stator_run_seconds_count", source.labels, std::to_string(source.totals.timed));
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void head(const char* name, const char* type, const char* help, bool empty) {
    if (empty) return;
    text_ += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }
  void sample(const std::string& name, const std::string& labels, const std::string& value) {
    text_ += name + "{" + labels + "} " + value + "\n";
  }

  std::string text_;
};

void add_modules(Page& page) {
  using From = Source<StaticModule>;
  std::vector<From> sources;
  for (auto& [module, id] : modules().all())
    sources.push_back({module, labels_of(module->name(), id), module->metrics().totals()});
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    page.family<StaticModule>(name, type, help, sources, value);
  };
  family("stator_runs_total", "counter", "Runs that succeeded.", [](const From& s) { return s.totals.runs; });
  page.failures(sources);
  page.latencies(sources);
  family("stator_runtimes", "gauge", "Runtimes alive.", [](const From& s) { return s.totals.runtimes; });
  family("stator_workspace_bytes", "gauge", "Bytes of the runtimes' workspaces.",
         [](const From& s) { return s.totals.workspace_bytes; });
  family("stator_arena_bytes", "gauge", "Bytes that results lie in.",
         [](const From& s) { return s.object->arena_bytes(); });
  family("stator_weight_bytes", "gauge", "Bytes of weights, as stored and as plans have repacked them.",
         [](const From& s) { return s.object->weight_bytes() + s.object->packed_bytes(); });
  family("stator_plan_cache_hits_total", "counter", "Runs of a signature plan.",
         [](const From& s) { return s.totals.plan_hits; });
  family("stator_plan_cache_misses_total", "counter", "Runs for which there was no signature plan.",
         [](const From& s) { return s.totals.plan_misses; });
  family("stator_plan_cache_builds_total", "counter", "Signature plans made.",
         [](const From& s) { return s.totals.plan_builds; });
  family("stator_plan_cache_evictions_total", "counter", "Signature plans that made room for others.",
         [](const From& s) { return s.object->plan_evictions(); });
}

void add_pools(Page& page) {
  using From = Source<PoolMetrics>;
  std::vector<From> sources;
  for (auto& [pool, id] : pools().all())
    sources.push_back({pool, labels_of(pool->module->name(), id), pool->runs.totals()});
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    page.family<PoolMetrics>(name, type, help, sources, value);
  };
  family("stator_pool_runs_total", "counter", "Runs in the pool's runtimes that succeeded.",
         [](const From& s) { return s.totals.runs; });
  family("stator_pool_refused_total", "counter", "Calls that got no runtime of the pool in time.",
         [](const From& s) { return s.object->refused.load(std::memory_order_relaxed); });
  family("stator_pool_runtimes", "gauge", "Runtimes that the pool has made.",
         [](const From& s) { return s.totals.runtimes; });
  family("stator_pool_lent", "gauge", "Runtimes of the pool that are lent now.",
         [](const From& s) { return s.object->lent.load(std::memory_order_relaxed); });
  family("stator_pool_limit", "gauge", "The most runtimes that the pool makes.",
         [](const From& s) { return s.object->limit; });
}

}  // namespace

void add_to_metrics(const std::shared_ptr<const StaticModule>& module) { modules().add(module); }

void add_to_metrics(const std::shared_ptr<const PoolMetrics>& pool) { pools().add(pool); }

std::string metrics_json(const StaticModule& module) {
  Json out = totals_json(module.name(), modules().id_of(module), module.metrics().totals());
  out["plan_cache"]["evictions"] = module.plan_evictions();
  out["arena_bytes"] = module.arena_bytes();
  out["weight_bytes"] = module.weight_bytes() + module.packed_bytes();
  return dump(out);
}

std::string metrics_json(const PoolMetrics& pool) {
  Json out = totals_json(pool.module->name(), pools().id_of(pool), pool.runs.totals());
  out["limit"] = pool.limit;
  out["lent"] = pool.lent.load(std::memory_order_relaxed);
  out["refused"] = pool.refused.load(std::memory_order_relaxed);
  return dump(out);
}

std::string metrics_prometheus() {
  Page page;
  add_modules(page);
  add_pools(page);
  return page.take();
}

}  // namespace stator::capi
