#include "memory/block.h"

#include <cstdlib>
#include <string>

#include "graph/error.h"
#include "memory/layout.h"

namespace stator {

MemoryBlock::~MemoryBlock() { std::free(data_); }

bool MemoryBlock::reserve(int64_t bytes) {
  if (bytes <= bytes_) return false;
  int64_t size = align_up(bytes);
  void* memory = std::aligned_alloc(kArenaAlignment, static_cast<size_t>(size));
  if (!memory)
    throw Error(ErrorCode::kOutOfMemory, "no memory for " + std::to_string(size) + " bytes of planned tensors");
  std::free(data_);
  data_ = static_cast<std::byte*>(memory);
  bytes_ = size;
  return true;
}

}  // namespace stator
