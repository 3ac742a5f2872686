#include "runtime/log.h"

#include <memory>
#include <mutex>

namespace stator {
namespace {

struct Sink {
  LogCallback callback;
  void* context;
  int32_t level;
};

std::mutex sink_mutex;
std::shared_ptr<const Sink> current_sink;

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
  current_sink = std::move(next);
}

void log(LogLevel level, const std::string& message) {
  auto to = sink();  // called without the lock: the callback may set another
  if (to && static_cast<int32_t>(level) >= to->level)
    to->callback(to->context, static_cast<int32_t>(level), message.c_str());
}

WarningsToLog::WarningsToLog() : guard_(log_warnings()) {}

}  // namespace stator
