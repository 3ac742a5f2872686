#include "memory/block.h"

#include <cstdlib>
#include <string>

#include "graph/error.h"
#include "memory/layout.h"

namespace stator {

MemoryBlock::~MemoryBlock() { release(); }

void MemoryBlock::release() noexcept {
  std::free(data_);
  data_ = nullptr;
  ++generation_;
  charge_.set(0, "");
}

void MemoryBlock::reserve(int64_t bytes, const char* what) {
  if (bytes <= charge_.bytes()) return;
  release();
  const int64_t size = align_up(bytes);
  charge_.set(size, what);
  data_ = static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(size)));
  if (data_) return;
  charge_.set(0, "");
  throw Error(ErrorCode::kOutOfMemory, "no memory for " + std::to_string(size) + " bytes of " + what);
}

}  // namespace stator
