// ThreadPool: the process's threads for forks and asynchronous runs. They are made when there is work and none is free, and sleep while
// there is none. Work begins in the order in which it came.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace stator {

class ThreadPool {
 public:
  // Never destroyed: its threads live as long as the process.
  static ThreadPool& process();

  // There may be this many threads at least.
  void allow(int threads);
  // False if no thread runs and none can be made; then nothing will be done.
  bool post(std::function<void()> work);

 private:
  bool add_thread();
  void serve();

  std::mutex mutex_;
  std::condition_variable awake_;
  std::deque<std::function<void()>> work_;
  int limit_ = 1;
  int threads_ = 0;
  int free_ = 0;
};

}  // namespace stator
