// The signature plans of a method: bounded, the longest unused goes first. Shared by all runtimes; a runtime asks only when its own last
// plans do not fit.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "plan/signature_plan.h"

namespace stator {

class SignatureCache {
 public:
  explicit SignatureCache(size_t limit = 64) : limit_(limit) {}

  struct Found {
    std::shared_ptr<const SignaturePlan> plan;  // NULL: none yet
    bool make = false;                          // seen before, so worth a plan: the caller makes it and adds it
  };
  Found find(const InputSignature& signature);
  // If another thread was faster, its plan stays.
  void add(std::shared_ptr<const SignaturePlan> plan);

  // Those that have a plan, last used first.
  std::vector<std::shared_ptr<const SignaturePlan>> plans() const;

 private:
  struct Entry {
    InputSignature signature;
    std::shared_ptr<const SignaturePlan> plan;
  };
  using Entries = std::list<Entry>;
  // To the front, or the end if there is none. With the mutex held.
  Entries::iterator touch(const InputSignature& signature);
  void insert(Entry entry);

  const size_t limit_;
  mutable std::mutex mutex_;
  Entries entries_;  // last used first
};

}  // namespace stator
