// Where Stator, LibTorch's warnings and what models print speak: one callback for the process, and a queue for those who would rather ask.
// Neither exists by default.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <string>

namespace stator {

enum class LogLevel : int32_t { kDebug = 10, kInfo = 20, kWarning = 30, kError = 40 };

using LogCallback = void (*)(void* context, int32_t level, const char* message);

struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string message;
};

void set_log(LogCallback callback, void* context, int32_t level);
// Keeps the last `capacity` records of at least this level for next_record(). 0 ends that and wakes who waits; what was kept can still be
// taken.
void collect_log(int32_t level, int64_t capacity);
// The oldest record kept, or nullopt if there is none and records are not collected (any more). Throws Error(kTimeout) if none came in time: 0 does not
// wait, -1 waits without end.
std::optional<LogRecord> next_record(int64_t timeout_ns);

// Whether anybody would see a record of this level; for those to whom making one is work.
bool log_wanted(LogLevel level);
// From any thread. The callback is called without a lock.
void log(LogLevel level, const std::string& message);

// Sends this thread's LibTorch warnings to the log while it lives.
class WarningsToLog {
 public:
  WarningsToLog();

 private:
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace stator
