// The objects behind the handles of stator.h. Each counts its references and is counted itself, for stator_live_handles().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "describe_metrics.h"
#include "runtime/arena.h"
#include "runtime/module.h"
#include "runtime/pool.h"
#include "runtime/queue.h"
#include "runtime/runtime.h"
#include "stator/stator.h"

namespace stator::capi {

constexpr int kHandleKinds = STATOR_HANDLE_QUEUE + 1;
extern std::atomic<int64_t> live_handles[kHandleKinds];

template <int Kind>
class Counted {
 public:
  Counted() { live_handles[Kind].fetch_add(1, std::memory_order_relaxed); }
  ~Counted() { live_handles[Kind].fetch_sub(1, std::memory_order_relaxed); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  bool drop() const { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  mutable std::atomic<int64_t> references_{1};
};

template <class T>
void retain(const T* handle) {
  if (handle) handle->retain();
}

template <class T>
void release(const T* handle) {
  if (handle && handle->drop()) delete handle;
}

// References that C++ code holds.
struct Release {
  template <class T>
  void operator()(T* handle) const {
    release(handle);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Release>;
using Held = std::shared_ptr<const void>;

template <class T>
Owned<T> share(T* handle) {
  retain(handle);
  return Owned<T>(handle);
}

}  // namespace stator::capi

struct stator_bytes : stator::capi::Counted<STATOR_HANDLE_BYTES> {
  std::string data;
};

struct stator_options : stator::capi::Counted<STATOR_HANDLE_OPTIONS> {
  using Setting = std::variant<int64_t, double, std::string>;
  std::map<std::string, Setting> settings;
  stator::Launcher launcher;
};

struct stator_module : stator::capi::Counted<STATOR_HANDLE_MODULE> {
  std::shared_ptr<stator::StaticModule> module;
};

struct stator_runtime : stator::capi::Counted<STATOR_HANDLE_RUNTIME> {
  std::unique_ptr<stator::StaticRuntime> runtime;
  stator_pool* lender = nullptr;  // the pool that owns it
  int32_t index = -1;             // in the pool
  std::atomic<bool> lent{false};
};

struct stator_arena : stator::capi::Counted<STATOR_HANDLE_ARENA> {
  explicit stator_arena(std::shared_ptr<stator::StaticModule> module) : arena(std::move(module)) {}
  stator::Arena arena;
};

struct stator_pool : stator::capi::Counted<STATOR_HANDLE_POOL> {
  std::shared_ptr<stator::StaticModule> module;
  std::unique_ptr<stator::LendingPool<stator_runtime>> pool;
  std::shared_ptr<stator::capi::PoolMetrics> metrics = std::make_shared<stator::capi::PoolMetrics>();
};

struct stator_value : stator::capi::Counted<STATOR_HANDLE_VALUE> {
  stator_value(c10::IValue value, stator::Lease lease) : value(std::move(value)), lease(std::move(lease)) {}
  c10::IValue value;
  stator::Lease lease;     // if tensors in it are in an arena
  bool read_only = false;  // a tensor whose memory may not be written
};

struct stator_queue : stator::capi::Counted<STATOR_HANDLE_QUEUE> {
  ~stator_queue();
  stator::EventQueue<stator_future*> events;  // a reference to each
};

// A run under way in another thread, or what it came to.
struct stator_future : stator::capi::Counted<STATOR_HANDLE_FUTURE> {
  enum class Phase : uint8_t { kWaiting, kRunning, kDone };
  // Apart, so that the running thread can give up its reference to the future before it says that it is done.
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    Phase phase = Phase::kWaiting;
  };

  int64_t tag = 0;
  const std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  std::vector<stator::capi::Held> held;                 // what the run needs, until it is done
  stator_arena* arena = nullptr;                        // one of these
  std::unique_ptr<stator::StaticRuntime::Pending> run;  // until it has begun
  stator::capi::Owned<stator_queue> queue;              // until it is done
  stator::capi::Owned<stator_value> result;             // these two from then on
  std::exception_ptr error;
};

inline stator_queue::~stator_queue() {
  while (auto future = events.next(0)) stator::capi::release(*future);
}

namespace stator::capi {

inline const StaticMethod& as_method(const stator_method* method) {
  return *reinterpret_cast<const StaticMethod*>(method);
}
inline const stator_method* as_handle(const StaticMethod* method) {
  return reinterpret_cast<const stator_method*>(method);
}

}  // namespace stator::capi
