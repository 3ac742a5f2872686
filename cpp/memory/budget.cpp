#include "memory/budget.h"

#include "graph/error.h"

namespace stator {

bool MemoryBudget::try_take(int64_t bytes) noexcept {
  int64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (limit_ > 0 && bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryBudget::take_here(int64_t bytes, const char* what) {
  if (try_take(bytes)) return;
  throw Error(ErrorCode::kMemoryLimit, "the memory limit of the " + owner_ + " is " + std::to_string(limit_) +
                                           " bytes (option \"memory_limit_bytes\"); " + std::to_string(used()) +
                                           " are in use, and " + std::to_string(bytes) + " more were asked for " +
                                           what);
}

void MemoryBudget::take(int64_t bytes, const char* what) {
  take_here(bytes, what);
  if (!parent_) return;
  try {
    parent_->take(bytes, what);
  } catch (...) {
    give_back_here(bytes);
    throw;
  }
}

void MemoryBudget::give_back(int64_t bytes) noexcept {
  give_back_here(bytes);
  if (parent_) parent_->give_back(bytes);
}

void MemoryCharge::set(int64_t bytes, const char* what) {
  if (budget_ && bytes > bytes_) budget_->take(bytes - bytes_, what);
  if (budget_ && bytes < bytes_) budget_->give_back(bytes_ - bytes);
  bytes_ = bytes;
}

}  // namespace stator
