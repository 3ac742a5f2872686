// State must not keep the memory that a caller lends for one run. While the run goes on they are one, as in the interpreter; when it ends,
// what state holds of an input is copied.
#pragma once

#include <unordered_set>

#include "runtime/frame.h"
#include "runtime/module.h"

namespace stator {

// For one run, on inputs that are set. The end of its life is the end of the run, also of one that failed.
class LentInputs {
 public:
  LentInputs(const Frame& frame, State& state);
  ~LentInputs();
  LentInputs(const LentInputs&) = delete;
  LentInputs& operator=(const LentInputs&) = delete;

 private:
  State& state_;
  std::unordered_set<const c10::StorageImpl*> storages_;  // empty if state cannot hold them
};

}  // namespace stator
