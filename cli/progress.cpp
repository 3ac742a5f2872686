#include "progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

namespace cli {

Progress::Progress(std::string what) {
  if (!isatty(STDERR_FILENO)) return;
  thread_ = std::jthread([what = std::move(what)](const std::stop_token& stop) {
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    bool shown = false;
    for (int seconds = 1; !ended.wait_for(lock, stop, 1s, [] { return false; }) && !stop.stop_requested(); ++seconds) {
      std::fprintf(stderr, "\r%s: %d s", what.c_str(), seconds);
      std::fflush(stderr);
      shown = true;
    }
    if (shown) std::fputs("\r\x1b[K", stderr);
  });
}

}  // namespace cli
