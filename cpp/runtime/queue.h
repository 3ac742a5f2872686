// EventQueue: what has happened, in order, for one or more threads to take; and a file descriptor that is readable while it holds anything.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "graph/error.h"

namespace stator {

// Whether `happened` in time. 0 does not wait, -1 waits without end.
template <class Happened>
bool wait_for(std::condition_variable& change, std::unique_lock<std::mutex>& lock, int64_t timeout_ns,
              const Happened& happened) {
  constexpr int64_t kLongest = int64_t{1} << 60;  // 36 years; more would overflow the clock
  if (timeout_ns >= 0) {
    return change.wait_for(lock, std::chrono::nanoseconds(std::min(timeout_ns, kLongest)), happened);
  }
  change.wait(lock, happened);
  return true;
}

template <class T>
class EventQueue {
 public:
  EventQueue() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
    if (fd_ < 0) throw Error(ErrorCode::kOutOfMemory, "the system gives no file descriptor for a queue");
  }
  ~EventQueue() { close(fd_); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }

  void push(T event) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    eventfd_write(fd_, 1);  // under the lock, so that the count is the queue's length
    filled_.notify_one();
  }

  // nullopt if nothing came in time. 0 does not wait, -1 waits without end.
  std::optional<T> next(int64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    const auto filled = [this] { return !events_.empty(); };
    if (!wait_for(filled_, lock, timeout_ns, filled)) return std::nullopt;
    T event = std::move(events_.front());
    events_.pop_front();
    eventfd_t one = 0;
    eventfd_read(fd_, &one);
    return event;
  }

 private:
  const int fd_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> events_;
};

}  // namespace stator
