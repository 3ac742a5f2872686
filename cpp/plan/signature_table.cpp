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

// Where memory is lacking it throws before anything refers to the signature.
size_t SignatureTable::insert(const InputSignature& signature) {
  entries_.reserve(limit_);
  const size_t place = entries_.size() < limit_ ? entries_.size() : longest_unused(), hash = signature.hash();
  places_[hash] = place;
  if (place == entries_.size()) {
    entries_.push_back({&signature, 0});
  } else {
    const size_t known = entries_[place].signature->hash();
    const auto found = places_.find(known);
    if (known != hash && found != places_.end() && found->second == place) places_.erase(found);
    entries_[place].signature = &signature;
  }
  return use(place);
}

size_t SignatureTable::longest_unused() const {
  const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                       [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
  return static_cast<size_t>(oldest - entries_.begin());
}

void SignatureTable::clear() {
  entries_.clear();
  places_.clear();
  last_ = kNone;
}

}  // namespace stator
