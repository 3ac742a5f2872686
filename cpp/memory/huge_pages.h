// Large pieces of memory that stay, in few pages: so that reading all of one does not wait for addresses to be translated.
#pragma once

#include <cstdint>

namespace stator {

constexpr int64_t kHugePage = int64_t{2} << 20;

// Pieces of such pages, one behind the other; what the system has none for lies in small ones. One thread at a time.
class HugePages {
 public:
  HugePages() = default;
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
  // Pieces stay.
  ~HugePages();

  // `bytes`, not 0, aligned to a small page and zero. NULL if there is no memory.
  void* take(int64_t bytes);
  // A piece, any thread, whether or not what it was taken from is there.
  static void give_back(void* piece, int64_t bytes) noexcept;

 private:
  char* free_ = nullptr;  // address space that no piece has
  int64_t left_ = 0;
};

}  // namespace stator
