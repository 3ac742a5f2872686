// The signature plans of a method: bounded. Shared by all runtimes; a runtime asks only when its own last plans do not fit.
//
// Making a plan costs as much as many runs, so plans are made on credit: runs that find one earn it, others hardly, what is made spends it.
// While all signatures known find room, credit is plenty, and each gets a plan at second sight. Beyond that there is little, or one run in
// fifty would be spent on plans that are hardly used: only the shortest runs get plans, as many as credit lasts for. A plan saves what
// operators cost besides their work, which is about the same for all, and next to long runs that is little. A signature that comes again and
// again gets its plan all the same. What has no plan is remembered by its hash alone, and takes no plan's place.
//
// A short run that makes its plan takes many times as long as it would. So among many signatures, where some runs are much longer than making a
// plan, a short run is only recorded, and its plan is made by the next long one, unless it comes often meanwhile.
//
// When there is no more room, a plan on credit takes the place of one that has long been unused, or whose signature's runs are longer: so a
// thousand lengths in random order end with plans for the shortest, and no more are made. Others replace the longest unused.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "memory/budget.h"
#include "plan/packed_weights.h"
#include "plan/recording.h"
#include "plan/signature_plan.h"
#include "profile/clock.h"

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
    // Then this run is too short to make it: the caller calls wait() with its recording, or give_up().
    bool later = false;
  };
  // A recorded run that there is to be a plan of.
  struct Recorded {
    InputSignature signature;
    Recording recording;
  };
  Found find(const InputSignature& signature);
  // The plan that there is, NULL if none. For a caller who would not make one.
  std::shared_ptr<const SignaturePlan> find_made(const InputSignature& signature);
  // How long a run without a plan took. If it was long enough to make a plan besides, what it is to be made of, as after find().
  std::optional<Recorded> took(const InputSignature& signature, Ticks time);
  void wait(Recorded recorded);
  // As find(), for a caller who wants the plan now, whatever it costs.
  Found find_at_once(const InputSignature& signature);
  // `cost`: how long it took to make. Without memory for it in the budget it is not kept, and no other is made until clear().
  void add(std::shared_ptr<const SignaturePlan> plan, Ticks cost = 0);
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
    int32_t often = 0;  // as Seen's, until it is made
    int64_t last = 0;   // lookup
    Ticks time = 0;     // of a run without it; 0: not known
  };
  // What is known of a signature without a plan.
  struct Seen {
    int64_t last = 0;   // lookup
    int32_t often = 0;  // lookups for it, half as many for each kForgottenBy lookups since the last
    Ticks time = std::numeric_limits<Ticks>::max();  // the least
  };
  static constexpr int64_t kCostOfPlan = 256, kCostOfLaterPlan = 64, kEarnedByHit = 16, kEarnedByMiss = 1;
  static constexpr int64_t kMostPlansOnCredit = 48, kMostAmongMany = 4;
  static constexpr size_t kMostSeen = 2048;
  static constexpr int64_t kForgottenBy = 256;
  static constexpr int32_t kOften = 4;          // with credit and room, whatever the time
  static constexpr int32_t kOftenEnough = 64;   // without credit, and without waiting
  static constexpr int64_t kLongUnused = 8192;  // lookups
  static constexpr size_t kMostWaiting = 4;
  static constexpr Ticks kLongBesideCost = 2;      // runs that take so many times what making a plan does
  static constexpr int64_t kLongRunsWithin = 256;  // lookups; if there are none, nothing waits for them
  int64_t most_credit() const {
    const int64_t plans = seen_.size() <= limit_ ? kMostPlansOnCredit : kMostAmongMany;
    return kCostOfPlan * std::min(static_cast<int64_t>(limit_), plans);
  }
  void earn(int64_t credit) { credit_ = std::min(credit_ + credit, most_credit()); }
  Found find(const InputSignature& signature, bool at_once);
  using Entries = std::list<Entry>;
  // All that follow with the mutex held. What is known of a signature without a plan, with this lookup; NULL: it has not been seen before.
  Seen* see(const InputSignature& signature);
  // Whether it is worth a plan. On credit, room is made for that; who comes often enough takes the place of the longest unused.
  bool admit(const Seen& seen, int64_t cost);
  // Of runs without a plan, one for each signature: no more are shorter than there are plans, with those that credit lasts for.
  bool is_among_the_shortest(Ticks time, int64_t cost);
  // Among many signatures, of which some have long runs.
  bool plans_can_wait() const;
  // False if it is not waiting, or still to wait. What comes again and again need not.
  bool stop_waiting(Entry& entry);
  // Whose place a plan on credit may take; end(): none's.
  Entries::iterator worth_less(Ticks time);
  // To the front, or the end if there is none.
  Entries::iterator touch(const InputSignature& signature);
  Entries::iterator insert(const InputSignature& signature);
  void evict(Entries::iterator entry);
  void give(Entry& entry, std::shared_ptr<const SignaturePlan> plan);

  const size_t limit_;
  const When when_;
  const std::shared_ptr<PackedWeights> packed_;
  const std::shared_ptr<MemoryBudget> budget_;
  mutable std::mutex mutex_;
  Entries entries_;                                            // last used first
  std::unordered_multimap<size_t, Entries::iterator> places_;  // by the signature's hash
  std::unordered_map<size_t, Seen> seen_;
  Ticks longest_of_shortest_ = std::numeric_limits<Ticks>::max();  // as of a while ago
  int64_t shortest_known_at_ = 0;                                  // lookup
  int64_t lookups_ = 0;
  int64_t credit_;
  std::vector<Recorded> waiting_;  // have entries that are being made
  Ticks cost_ = 0;                 // of making a plan; 0: not known
  int64_t last_long_run_ = 0;      // lookup
  bool no_memory_ = false;
  std::atomic<int64_t> evictions_{0};
};

}  // namespace stator
