// The signature plans of a method: bounded, the longest unused goes first. Shared by all runtimes; a runtime asks only when its own last
// plans do not fit.
//
// Making a plan costs as much as many runs, so plans are made on credit: what is found in the cache earns it, what is made spends it. A
// signature that comes again and again gets its plan all the same.
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
  enum class When : uint8_t { kSecondSight, kAtOnce };

  explicit SignatureCache(std::shared_ptr<PackedWeights> packed, std::shared_ptr<MemoryBudget> budget = nullptr,
                          When when = When::kSecondSight, size_t limit = 64)
      : limit_(limit), when_(when), packed_(std::move(packed)), budget_(std::move(budget)), credit_(most_credit()) {}

  // Of the module, for its plans.
  PackedWeights& packed() { return *packed_; }

  struct Found {
    std::shared_ptr<const SignaturePlan> plan;  // NULL: none yet
    // Worth a plan. The caller makes it, and calls exactly one of add(), refuse() and give_up(); nobody else is asked to meanwhile.
    bool make = false;
  };
  Found find(const InputSignature& signature);
  // As find(), for a caller who wants the plan now, whatever it costs.
  Found find_at_once(const InputSignature& signature);
  // Without memory for it in the budget it is not kept, and no other is made until clear().
  void add(std::shared_ptr<const SignaturePlan> plan);
  // There can be no plan for it.
  void refuse(const InputSignature& signature);
  // There is no memory for what its plan needs, so no other is made until clear().
  void refuse_all(const InputSignature& signature);
  // There is none yet: the run that it was to be made of has failed.
  void give_up(const InputSignature& signature);

  void clear();

  // Plans that made room for others.
  int64_t evictions() const { return evictions_.load(std::memory_order_relaxed); }
  // Those that have a plan, last used first.
  std::vector<std::shared_ptr<const SignaturePlan>> plans() const;

 private:
  struct Entry {
    InputSignature signature;
    std::shared_ptr<const SignaturePlan> plan;
    bool refused = false;
    bool being_made = false;
    int32_t sights = 0;  // without a plan
  };
  static constexpr int64_t kCostOfPlan = 16;         // in runs that found one
  static constexpr int32_t kSightsThatSuffice = 16;  // without credit
  int64_t most_credit() const { return kCostOfPlan * static_cast<int64_t>(limit_); }
  Found find(const InputSignature& signature, bool at_once);
  bool is_worth_it(const Entry& entry, bool at_once);
  using Entries = std::list<Entry>;
  // To the front, or the end if there is none. With the mutex held.
  Entries::iterator touch(const InputSignature& signature);
  void insert(Entry entry);
  void give(Entry& entry, std::shared_ptr<const SignaturePlan> plan);

  const size_t limit_;
  const When when_;
  const std::shared_ptr<PackedWeights> packed_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  Entries entries_;  // last used first
  int64_t credit_;
  bool no_memory_ = false;
  std::atomic<int64_t> evictions_{0};
};

}  // namespace stator
