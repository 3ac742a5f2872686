// A piece of memory aligned to kArenaAlignment. It only grows, and growing loses what it held.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stator {

class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // True if the memory moved. Throws Error(kOutOfMemory) and keeps the old memory.
  bool reserve(int64_t bytes);

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace stator
