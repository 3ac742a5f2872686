#include "graph/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "graph/error.h"

namespace stator {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
constexpr int64_t kLongest = 1'000'000'000'000'000'000;  // nanoseconds: clocks can still add it

struct Sink {
  LogCallback callback;
  void* context;
  int32_t level;
};

class Queue {
 public:
  void collect(int32_t level, int64_t capacity) {
    std::lock_guard lock(mutex_);
    level_.store(capacity > 0 ? level : kNever, std::memory_order_relaxed);
    capacity_ = capacity;
    if (capacity > 0) return;
    ++ends_;
    changed_.notify_all();
  }

  int32_t level() const { return level_.load(std::memory_order_relaxed); }

  void add(LogLevel level, const std::string& message) {
    std::lock_guard lock(mutex_);
    if (capacity_ == 0) return;
    records_.push_back({level, message});
    for (; static_cast<int64_t>(records_.size()) > capacity_; ++lost_) records_.pop_front();
    changed_.notify_one();
  }

  std::optional<LogRecord> next(int64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    const int64_t ends = ends_;
    const auto ready = [&] { return !records_.empty() || capacity_ == 0 || ends_ != ends; };
    if (timeout_ns < 0) {
      changed_.wait(lock, ready);
    } else if (!changed_.wait_for(lock, std::chrono::nanoseconds(std::min(timeout_ns, kLongest)), ready)) {
      throw Error(ErrorCode::kTimeout, "no log record came in " + std::to_string(timeout_ns) + " ns");
    }
    if (lost_ > 0) {
      const int64_t lost = std::exchange(lost_, 0);
      return LogRecord{LogLevel::kWarning,
                       std::to_string(lost) + " log records were lost: nobody asked for them in time"};
    }
    if (records_.empty()) return std::nullopt;
    LogRecord record = std::move(records_.front());
    records_.pop_front();
    return record;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LogRecord> records_;
  int64_t capacity_ = 0;
  int64_t lost_ = 0;
  int64_t ends_ = 0;  // how often collecting was ended
  std::atomic<int32_t> level_{kNever};
};

std::mutex sink_mutex;
std::shared_ptr<const Sink> current_sink;
std::atomic<int32_t> sink_level{kNever};

// For ever: threads may wait in it while the process ends.
Queue& queue() {
  static auto& instance = *new Queue;
  return instance;
}

std::shared_ptr<const Sink> sink() {
  std::lock_guard lock(sink_mutex);
  return current_sink;
}

class LogWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { log(LogLevel::kWarning, warning.msg()); }
};

LogWarnings* log_warnings() {
  static LogWarnings handler;
  return &handler;
}

}  // namespace

void set_log(LogCallback callback, void* context, int32_t level) {
  auto next = callback ? std::make_shared<const Sink>(Sink{callback, context, level}) : nullptr;
  std::lock_guard lock(sink_mutex);
  sink_level.store(callback ? level : kNever, std::memory_order_relaxed);
  current_sink = std::move(next);
}

void collect_log(int32_t level, int64_t capacity) { queue().collect(level, capacity); }

std::optional<LogRecord> next_record(int64_t timeout_ns) { return queue().next(timeout_ns); }

bool log_wanted(LogLevel level) {
  const auto number = static_cast<int32_t>(level);
  return number >= sink_level.load(std::memory_order_relaxed) || number >= queue().level();
}

void log(LogLevel level, const std::string& message) {
  const auto number = static_cast<int32_t>(level);
  if (number >= queue().level()) queue().add(level, message);
  auto to = sink();  // called without the lock: the callback may set another
  if (to && number >= to->level) to->callback(to->context, number, message.c_str());
}

WarningsToLog::WarningsToLog() : guard_(log_warnings()) {}

}  // namespace stator
