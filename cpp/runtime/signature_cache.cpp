#include "runtime/signature_cache.h"

#include <algorithm>

namespace stator {

SignatureCache::Entries::iterator SignatureCache::touch(const InputSignature& signature) {
  auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.signature == signature; });
  if (found != entries_.end()) entries_.splice(entries_.begin(), entries_, found);
  return found;
}

void SignatureCache::insert(Entry entry) {
  entries_.push_front(std::move(entry));
  if (entries_.size() > limit_) entries_.pop_back();
}

SignatureCache::Found SignatureCache::find(const InputSignature& signature) {
  std::lock_guard lock(mutex_);
  if (auto found = touch(signature); found != entries_.end()) return {found->plan, found->plan == nullptr};
  insert({signature, nullptr});
  return {};
}

void SignatureCache::add(std::shared_ptr<const SignaturePlan> plan) {
  std::lock_guard lock(mutex_);
  auto found = touch(plan->signature);
  if (found == entries_.end()) {
    insert({plan->signature, std::move(plan)});
  } else if (!found->plan) {
    found->plan = std::move(plan);
  }
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
