// Where Stator and LibTorch's warnings speak: one callback for the process, none by default.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <string>

namespace stator {

enum class LogLevel : int32_t { kDebug = 10, kInfo = 20, kWarning = 30, kError = 40 };

using LogCallback = void (*)(void* context, int32_t level, const char* message);

void set_log(LogCallback callback, void* context, int32_t level);
void log(LogLevel level, const std::string& message);

// Sends this thread's LibTorch warnings to the log while it lives.
class WarningsToLog {
 public:
  WarningsToLog();

 private:
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace stator
