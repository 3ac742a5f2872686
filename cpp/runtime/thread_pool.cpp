#include "runtime/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "runtime/launcher.h"
#include "runtime/processors.h"

namespace stator {
namespace {

// The threads made meanwhile take no signals: those are for the host's own.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ThreadPool& ThreadPool::process() {
  static auto* const pool = [] {
    auto* made = new ThreadPool;
    made->allow(available_processors());
    return made;
  }();
  return *pool;
}

void ThreadPool::allow(int threads) {
  std::lock_guard lock(mutex_);
  limit_ = std::max(limit_, threads);
}

// With the mutex held.
bool ThreadPool::add_thread() {
  SignalsBlocked blocked;
  try {
    std::thread thread([this] { serve(); });
    pthread_setname_np(thread.native_handle(), "stator");
    thread.detach();
  } catch (const std::system_error&) {
    return false;
  }
  ++threads_;
  return true;
}

bool ThreadPool::post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  const bool wanted = static_cast<int>(work_.size()) >= free_ && threads_ < limit_;
  if (wanted && !add_thread() && threads_ == 0) return false;
  work_.push_back(std::move(work));
  awake_.notify_one();
  return true;
}

void ThreadPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++free_;
    awake_.wait(lock, [this] { return !work_.empty(); });
    --free_;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
  }
}

bool Launcher::launch(std::function<void()> work) const {
  if (!callback) return ThreadPool::process().post(std::move(work));
  callback(
      context,
      [](void* task) {
        auto* work = static_cast<std::function<void()>*>(task);
        (*work)();
        delete work;
      },
      new std::function<void()>(std::move(work)));
  return true;
}

}  // namespace stator
