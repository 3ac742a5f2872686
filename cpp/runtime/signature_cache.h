// The signature plans of a method: bounded, the longest unused goes first. Shared by all runtimes; a runtime asks only when its own last
// plans do not fit.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/budget.h"
#include "plan/packed_weights.h"
#include "plan/signature_plan.h"

namespace stator {

class SignatureCache {
 public:
  explicit SignatureCache(std::shared_ptr<PackedWeights> packed, std::shared_ptr<MemoryBudget> budget = nullptr,
                          size_t limit = 64)
      : limit_(limit), packed_(std::move(packed)), budget_(std::move(budget)) {}

  // Of the module, for its plans.
  PackedWeights& packed() { return *packed_; }

  struct Found {
    std::shared_ptr<const SignaturePlan> plan;  // NULL: none yet
    bool make = false;                          // seen before, so worth a plan: the caller makes it and adds it
  };
  Found find(const InputSignature& signature);
  // If another thread was faster, its plan stays. Without memory for it in the budget it is not kept.
  void add(std::shared_ptr<const SignaturePlan> plan);
  // There can be no plan for it.
  void refuse(const InputSignature& signature);

  void clear();

  // Plans that made room for others.
  int64_t evictions() const { return evictions_.load(std::memory_order_relaxed); }
  // Those that have a plan, last used first.
  std::vector<std::shared_ptr<const SignaturePlan>> plans() const;

 private:
  struct Entry {
    InputSignature signature;
    std::shared_ptr<const SignaturePlan> plan;
    std::unique_ptr<MemoryCharge> charge = nullptr;  // for the plan
    bool no_room = false;                            // no plan can be made, or the budget had no memory for it
  };
  using Entries = std::list<Entry>;
  // To the front, or the end if there is none. With the mutex held.
  Entries::iterator touch(const InputSignature& signature);
  void insert(Entry entry);
  void give(Entry& entry, std::shared_ptr<const SignaturePlan> plan) const;

  const size_t limit_;
  const std::shared_ptr<PackedWeights> packed_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  Entries entries_;  // last used first
  std::atomic<int64_t> evictions_{0};
};

}  // namespace stator
