// LendingPool: a bounded set of objects that are made when first needed and lent to one caller at a time. No locks: a counting semaphore
// bounds how many are lent, a stack of indices (Treiber, "Systems Programming: Coping with Parallelism", 1986; tagged against ABA) holds
// those that are free.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <vector>

namespace stator {

template <class T>
class LendingPool {
 public:
  using Make = std::function<std::unique_ptr<T>(int32_t index)>;

  LendingPool(int32_t limit, Make make) : make_(std::move(make)), free_(limit), entries_(limit), next_(limit) {}

  // NULL if none became free in time. 0 does not wait, -1 waits without end. Passes on what `make` throws.
  T* acquire(int64_t timeout_ns) {
    if (!wait(timeout_ns)) return nullptr;
    int32_t index = pop();
    // The permit held says that fewer than `limit` exist if none is free.
    if (index < 0) index = made_.fetch_add(1, std::memory_order_relaxed);
    try {
      if (!entries_[index]) entries_[index] = make_(index);
    } catch (...) {
      give_back(index);  // empty: the next caller tries again
      throw;
    }
    return entries_[index].get();
  }

  // One that exists and is not lent, NULL if there is none; to be given back.
  T* take_idle() {
    if (!free_.try_acquire()) return nullptr;
    const int32_t index = pop();
    if (index >= 0 && entries_[index]) return entries_[index].get();
    index < 0 ? free_.release() : give_back(index);
    return nullptr;
  }

  void give_back(int32_t index) {
    push(index);
    free_.release();
  }

  int32_t made() const { return made_.load(std::memory_order_relaxed); }

 private:
  bool wait(int64_t timeout_ns) {
    if (timeout_ns == 0) return free_.try_acquire();
    if (timeout_ns > 0) return free_.try_acquire_for(std::chrono::nanoseconds(timeout_ns));
    free_.acquire();
    return true;
  }

  void push(int32_t index) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t wanted;
    do {
      next_[index].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
      wanted = ((head >> 32) + 1) << 32 | static_cast<uint32_t>(index + 1);
    } while (!head_.compare_exchange_weak(head, wanted, std::memory_order_release, std::memory_order_relaxed));
  }

  int32_t pop() {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != 0) {
      auto index = static_cast<int32_t>(static_cast<uint32_t>(head)) - 1;
      uint64_t wanted = ((head >> 32) + 1) << 32 | next_[index].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, wanted, std::memory_order_acquire, std::memory_order_acquire)) return index;
    }
    return -1;
  }

  Make make_;
  std::counting_semaphore<65535> free_;
  std::vector<std::unique_ptr<T>> entries_;
  std::vector<std::atomic<uint32_t>> next_;  // index + 1 of the entry below, 0 at the bottom
  std::atomic<uint64_t> head_{0};            // tag in the upper half, index + 1 in the lower
  std::atomic<int32_t> made_{0};
};

}  // namespace stator
