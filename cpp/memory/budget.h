// MemoryBudget: how many bytes something has taken, and how many it may. Budgets stand behind one another: what a runtime takes, its module
// takes too. Any thread; no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace stator {

class MemoryBudget {
 public:
  // `owner` is named in errors. A limit of 0 is none.
  MemoryBudget(std::string owner, int64_t limit, std::shared_ptr<MemoryBudget> parent = nullptr)
      : owner_(std::move(owner)), limit_(limit), parent_(std::move(parent)) {}

  // Throws Error(kMemoryLimit) and takes nothing if that would be too much for this budget or one behind it. `what` it is for: "results".
  void take(int64_t bytes, const char* what);
  void give_back(int64_t bytes) noexcept;
  // The same without the budgets behind it, for memory that they count anyhow.
  void take_here(int64_t bytes, const char* what);
  void give_back_here(int64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  // This budget or one behind it has a limit.
  bool limited() const { return limit_ > 0 || (parent_ && parent_->limited()); }

 private:
  bool try_take(int64_t bytes) noexcept;

  const std::string owner_;
  const int64_t limit_;
  const std::shared_ptr<MemoryBudget> parent_;
  std::atomic<int64_t> used_{0};
};

// What one holder has taken; given back when it goes. One thread at a time.
class MemoryCharge {
 public:
  explicit MemoryCharge(std::shared_ptr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  ~MemoryCharge() { set(0, ""); }

  int64_t bytes() const { return bytes_; }
  // As MemoryBudget::take() for the difference. Getting less never throws.
  void set(int64_t bytes, const char* what);

 private:
  const std::shared_ptr<MemoryBudget> budget_;  // NULL: nobody counts
  int64_t bytes_ = 0;
};

}  // namespace stator
