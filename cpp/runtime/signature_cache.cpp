#include "runtime/signature_cache.h"

#include <algorithm>

#include "graph/error.h"

namespace stator {
namespace {

int64_t bytes_of(const SignaturePlan& plan) {
  size_t bytes =
      sizeof(SignaturePlan) + plan.buffers.capacity() * sizeof(Buffer) + plan.record.capacity() * sizeof(int64_t);
  for (const SignatureStep& step : plan.steps) {
    const size_t views = step.reads.capacity() + step.writes.capacity();
    bytes +=
        sizeof(SignatureStep) + views * sizeof(TensorView) + step.results.capacity() * sizeof(SignatureStep::Result);
  }
  for (const at::Tensor& constant : plan.constants) bytes += constant.nbytes();
  return static_cast<int64_t>(bytes);
}

// Counted for as long as anybody has it, in the cache or not.
struct CountedPlan {
  CountedPlan(std::shared_ptr<const SignaturePlan> counted, std::shared_ptr<MemoryBudget> budget)
      : plan(std::move(counted)), charge(std::move(budget)) {}

  std::shared_ptr<const SignaturePlan> plan;
  MemoryCharge charge;
};

}  // namespace

SignatureCache::Entries::iterator SignatureCache::touch(const InputSignature& signature) {
  const auto [first, last] = places_.equal_range(signature.hash());
  const auto found = std::find_if(first, last, [&](const auto& place) { return place.second->signature == signature; });
  if (found == last) return entries_.end();
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.begin();
}

SignatureCache::Entries::iterator SignatureCache::insert(const InputSignature& signature) {
  if (entries_.size() >= limit_) evict(std::prev(entries_.end()));
  entries_.push_front({.signature = signature, .last = lookups_});
  places_.emplace(signature.hash(), entries_.begin());
  return entries_.begin();
}

void SignatureCache::evict(Entries::iterator entry) {
  if (entry->plan) evictions_.fetch_add(1, std::memory_order_relaxed);
  const auto [first, last] = places_.equal_range(entry->signature.hash());
  places_.erase(std::find_if(first, last, [&](const auto& place) { return place.second == entry; }));
  entries_.erase(entry);
}

SignatureCache::Seen* SignatureCache::see(const InputSignature& signature) {
  if (seen_.size() >= kMostSeen) seen_.clear();
  auto [found, added] = seen_.try_emplace(signature.hash());
  Seen& seen = found->second;
  const int64_t since = (lookups_ - seen.last) / kForgottenBy;
  seen.often = (since < 31 ? seen.often >> since : 0) + 1;
  seen.last = lookups_;
  return added ? nullptr : &seen;
}

SignatureCache::Entries::iterator SignatureCache::worth_less(Ticks time) {
  const auto oldest = std::prev(entries_.end());
  if (lookups_ - oldest->last > kLongUnused) return oldest;
  const auto longest = std::max_element(entries_.begin(), entries_.end(),
                                        [](const Entry& a, const Entry& b) { return a.time < b.time; });
  // Clearly longer, or chance would make them take turns.
  return longest->time / 5 > time / 4 ? longest : entries_.end();
}

bool SignatureCache::is_among_the_shortest(Ticks time, int64_t cost) {
  constexpr int64_t kLookupsBetween = 128;
  if (lookups_ - shortest_known_at_ >= kLookupsBetween) {
    shortest_known_at_ = lookups_;
    longest_of_shortest_ = std::numeric_limits<Ticks>::max();
    std::vector<Ticks> times;
    for (const auto& [hash, seen] : seen_) times.push_back(seen.time);
    const size_t shortest = std::min(limit_, entries_.size() + static_cast<size_t>(credit_ / cost));
    if (shortest > 0 && times.size() > shortest) {
      const auto last = times.begin() + static_cast<ptrdiff_t>(shortest) - 1;
      std::nth_element(times.begin(), last, times.end());
      longest_of_shortest_ = *last;
    }
  }
  return time <= longest_of_shortest_;
}

bool SignatureCache::plans_can_wait() const {
  return seen_.size() > limit_ && cost_ > 0 && last_long_run_ > 0 && lookups_ - last_long_run_ <= kLongRunsWithin;
}

bool SignatureCache::stop_waiting(Entry& entry) {
  if (++entry.often < kOftenEnough && plans_can_wait()) return false;
  return std::erase_if(waiting_, [&](const Recorded& recorded) { return recorded.signature == entry.signature; }) > 0;
}

bool SignatureCache::admit(const Seen& seen, int64_t cost) {
  if (seen.often >= kOftenEnough) return true;
  if (credit_ < cost) return false;
  const bool has_room = entries_.size() < limit_;
  if (has_room && (seen_.size() <= limit_ || seen.often >= kOften)) return true;
  if (!is_among_the_shortest(seen.time, cost)) return false;
  if (has_room) return true;
  const auto replaced = worth_less(seen.time);
  if (replaced == entries_.end()) return false;
  evict(replaced);
  return true;
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature, bool at_once) {
  std::lock_guard lock(mutex_);
  ++lookups_;
  auto found = touch(signature);
  if (found != entries_.end()) {
    found->last = lookups_;
    if (found->plan) earn(kEarnedByHit);
    const bool being_made = found->being_made && !stop_waiting(*found);
    if (found->plan || found->refused || being_made) return {found->plan};
  }
  if (no_memory_) return {};
  earn(kEarnedByMiss);
  Seen* seen = see(signature);
  credit_ = std::min(credit_, most_credit());
  const int32_t often = found != entries_.end() ? found->often : seen ? seen->often : 1;
  const bool later = !at_once && often < kOftenEnough && plans_can_wait();
  if (later && waiting_.size() >= kMostWaiting) return {};
  const int64_t cost = later ? kCostOfLaterPlan : kCostOfPlan;
  const bool worth_it = found != entries_.end() || (seen && admit(*seen, cost));
  if (!worth_it && !at_once) return {};
  credit_ = std::max<int64_t>(credit_ - cost, 0);
  if (found == entries_.end()) found = insert(signature);
  found->being_made = true;
  found->often = often;
  if (seen && seen->time != std::numeric_limits<Ticks>::max()) found->time = seen->time;
  // Should it be evicted, it must come as often again.
  if (seen) seen->often = 0;
  return {.make = true, .later = later};
}

std::optional<SignatureCache::Recorded> SignatureCache::took(const InputSignature& signature, Ticks time) {
  std::lock_guard lock(mutex_);
  if (auto found = seen_.find(signature.hash()); found != seen_.end())
    found->second.time = std::min(found->second.time, time);
  if (cost_ == 0 || time / kLongBesideCost < cost_) return std::nullopt;
  last_long_run_ = lookups_;
  if (waiting_.empty()) return std::nullopt;
  Recorded next = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  return next;
}

void SignatureCache::wait(Recorded recorded) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(recorded));
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature) {
  return find(signature, when_ == When::kAtOnce);
}

std::shared_ptr<const SignaturePlan> SignatureCache::find_made(const InputSignature& signature) {
  std::lock_guard lock(mutex_);
  const auto found = touch(signature);
  return found == entries_.end() ? nullptr : found->plan;
}

SignatureCache::Found SignatureCache::find_at_once(const InputSignature& signature) { return find(signature, true); }

void SignatureCache::add(std::shared_ptr<const SignaturePlan> plan, Ticks cost) {
  std::lock_guard lock(mutex_);
  cost_ = std::max(cost_ / 2, cost);
  auto found = touch(plan->signature);
  if (found == entries_.end()) found = insert(plan->signature);
  found->being_made = false;
  if (!found->plan) give(*found, std::move(plan));
}

void SignatureCache::refuse(const InputSignature& signature) {
  std::lock_guard lock(mutex_);
  if (auto found = touch(signature); found != entries_.end()) found->being_made = false, found->refused = true;
}

void SignatureCache::refuse_all(const InputSignature& signature) {
  refuse(signature);
  std::lock_guard lock(mutex_);
  no_memory_ = true;
}

void SignatureCache::give_up(const InputSignature& signature) {
  std::lock_guard lock(mutex_);
  if (auto found = touch(signature); found != entries_.end()) found->being_made = false;
}

void SignatureCache::give(Entry& entry, std::shared_ptr<const SignaturePlan> plan) {
  const SignaturePlan* address = plan.get();
  auto counted = std::make_shared<CountedPlan>(std::move(plan), budget_);
  try {
    counted->charge.set(bytes_of(*address), "a signature plan");
    entry.plan = {std::move(counted), address};
  } catch (const Error&) {
    no_memory_ = true;
  }
}

void SignatureCache::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
  places_.clear();
  seen_.clear();
  waiting_.clear();
  longest_of_shortest_ = std::numeric_limits<Ticks>::max();
  no_memory_ = false;
}

std::vector<std::shared_ptr<const SignaturePlan>> SignatureCache::plans() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const SignaturePlan>> out;
  for (const Entry& entry : entries_) {
    if (entry.plan) out.push_back(entry.plan);
  }
  return out;
}

}  // namespace stator
