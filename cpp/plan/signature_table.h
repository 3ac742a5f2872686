// The signatures that a runtime has frames for: which of them fits what goes into a run. Their memory is the caller's.
#pragma once

#include <c10/util/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/signature.h"

namespace stator {

class SignatureTable {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  explicit SignatureTable(size_t limit) : limit_(limit) {}

  // The place of the signature that fits; kNone if there is none. The last one found is looked at first, others by their hashes.
  size_t find(const RunValues& values) {
    if (last_ != kNone && entries_[last_].signature->matches(values)) return last_;
    return find_other(values);
  }
  // A place for one that was not found: a new one, or that of the longest unused. `signature` stays where it is until its place is another's.
  size_t insert(const InputSignature& signature);
  void clear();

 private:
  struct Entry {
    const InputSignature* signature;
    int64_t last_used;
  };
  size_t find_other(const RunValues& values);
  size_t use(size_t place);
  size_t longest_unused() const;

  const size_t limit_;
  std::vector<Entry> entries_;
  // By hash. Of two signatures with one hash only the later is found.
  ska::flat_hash_map<size_t, size_t> places_;
  size_t last_ = kNone;
  int64_t uses_ = 0;
};

}  // namespace stator
