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
  auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.signature == signature; });
  if (found != entries_.end()) entries_.splice(entries_.begin(), entries_, found);
  return found;
}

void SignatureCache::insert(Entry entry) {
  entries_.push_front(std::move(entry));
  if (entries_.size() <= limit_) return;
  if (entries_.back().plan) evictions_.fetch_add(1, std::memory_order_relaxed);
  entries_.pop_back();
}

bool SignatureCache::is_worth_it(const Entry& entry, bool at_once) {
  if (no_memory_ || entry.refused || entry.being_made) return false;
  return at_once || (entry.sights >= 2 && credit_ >= kCostOfPlan) || entry.sights >= kSightsThatSuffice;
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature, bool at_once) {
  std::lock_guard lock(mutex_);
  auto found = touch(signature);
  if (found == entries_.end()) {
    insert({signature, nullptr});
    found = entries_.begin();
  }
  if (found->plan) {
    credit_ = std::min(credit_ + 1, most_credit());
    return {found->plan};
  }
  found->sights = std::min(found->sights + 1, kSightsThatSuffice);
  if (!is_worth_it(*found, at_once)) return {};
  credit_ = std::max<int64_t>(credit_ - kCostOfPlan, 0);
  found->being_made = true;
  return {.make = true};
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature) {
  return find(signature, when_ == When::kAtOnce);
}

SignatureCache::Found SignatureCache::find_at_once(const InputSignature& signature) { return find(signature, true); }

void SignatureCache::add(std::shared_ptr<const SignaturePlan> plan) {
  std::lock_guard lock(mutex_);
  auto found = touch(plan->signature);
  if (found == entries_.end()) {
    insert({plan->signature, nullptr});
    found = entries_.begin();
  }
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
