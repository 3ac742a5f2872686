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
  entries_.push_front({signature, nullptr});
  places_.emplace(signature.hash(), entries_.begin());
  if (entries_.size() > limit_) {
    const auto oldest = std::prev(entries_.end());
    if (oldest->plan) evictions_.fetch_add(1, std::memory_order_relaxed);
    const auto [first, last] = places_.equal_range(oldest->signature.hash());
    places_.erase(std::find_if(first, last, [&](const auto& place) { return place.second == oldest; }));
    entries_.pop_back();
  }
  return entries_.begin();
}

bool SignatureCache::is_worth_it(const InputSignature& signature) {
  if (seen_.size() >= kMostSeen) seen_.clear();
  auto [found, added] = seen_.try_emplace(signature.hash());
  Seen& seen = found->second;
  const int64_t since = (lookups_ - seen.last) / kForgottenBy;
  seen.often = (since < 31 ? seen.often >> since : 0) + 1;
  seen.last = lookups_;
  if (added) return false;
  const bool rich = credit_ > most_credit() / 2 && entries_.size() < limit_;
  const bool is_short = seen.time / kTimesTheShortest <= shortest_;
  return seen.often >= kOftenEnough || rich || (is_short && credit_ >= kCostOfPlan);
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature, bool at_once) {
  std::lock_guard lock(mutex_);
  ++lookups_;
  auto found = touch(signature);
  if (found != entries_.end()) {
    if (found->plan) earn(kEarnedByHit);
    if (found->plan || found->refused || found->being_made) return {found->plan};
  }
  if (no_memory_) return {};
  earn(kEarnedByMiss);
  if (!is_worth_it(signature) && !at_once) return {};
  credit_ = std::max<int64_t>(credit_ - kCostOfPlan, 0);
  if (found == entries_.end()) found = insert(signature);
  found->being_made = true;
  return {.make = true};
}

void SignatureCache::took(const InputSignature& signature, Ticks time) {
  std::lock_guard lock(mutex_);
  shortest_ = std::min(shortest_, time);
  if (auto found = seen_.find(signature.hash()); found != seen_.end()) found->second.time = time;
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature) {
  return find(signature, when_ == When::kAtOnce);
}

SignatureCache::Found SignatureCache::find_at_once(const InputSignature& signature) { return find(signature, true); }

void SignatureCache::add(std::shared_ptr<const SignaturePlan> plan) {
  std::lock_guard lock(mutex_);
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
