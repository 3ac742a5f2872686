#include "plan/signature_table.h"

#include <algorithm>

namespace stator {

size_t SignatureTable::use(size_t place) {
  entries_[place].last_used = ++uses_;
  return last_ = place;
}

size_t SignatureTable::find_other(const RunValues& values) {
  const auto found = places_.find(InputSignature::hash_of(values));
  if (found == places_.end() || !entries_[found->second].signature->matches(values)) return kNone;
  return use(found->second);
}

size_t SignatureTable::insert(const InputSignature& signature) {
  size_t place = entries_.size();
  if (place < limit_) {
    entries_.push_back({&signature, 0});
  } else {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
    place = static_cast<size_t>(oldest - entries_.begin());
    const auto known = places_.find(oldest->signature->hash());
    if (known != places_.end() && known->second == place) places_.erase(known);
    oldest->signature = &signature;
  }
  places_[signature.hash()] = place;
  return use(place);
}

void SignatureTable::clear() {
  entries_.clear();
  places_.clear();
  last_ = kNone;
}

}  // namespace stator
