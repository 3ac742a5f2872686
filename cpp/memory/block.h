// A piece of memory aligned to kArenaAlignment. It grows when asked to and shrinks when released, and loses what it held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "memory/budget.h"

namespace stator {

class MemoryBlock {
 public:
  // Its bytes count against `budget`, if there is one.
  explicit MemoryBlock(std::shared_ptr<MemoryBudget> budget = nullptr) : charge_(std::move(budget)) {}
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return charge_.bytes(); }
  bool holds(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= data_ && byte < data_ + bytes();
  }
  // Counts the changes of memory: an address may come again, with fewer bytes behind it.
  int64_t generation() const { return generation_; }

  // `what` the memory is for. Throws Error(kMemoryLimit) or Error(kOutOfMemory) and is then empty: never are there two blocks at once.
  void reserve(int64_t bytes, const char* what);
  void release() noexcept;

 private:
  std::byte* data_ = nullptr;
  int64_t generation_ = 0;
  MemoryCharge charge_;
};

}  // namespace stator
