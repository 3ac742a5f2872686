#include "memory/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace stator {
namespace {

// As much address space at once; it takes memory only where it has been written.
constexpr int64_t kRegion = 8 * kHugePage;

int64_t small_page() { return ::sysconf(_SC_PAGESIZE); }
int64_t rounded_up(int64_t bytes, int64_t page) { return (bytes + page - 1) / page * page; }

// Whole huge pages, aligned. NULL if there is no memory.
char* map_huge_pages(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes), page = static_cast<size_t>(kHugePage);
  void* mapped = ::mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<char*>(mapped);
  auto* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(first) + page - 1) / page * page);
  if (aligned != first) ::munmap(first, static_cast<size_t>(aligned - first));
  if (aligned != first + page) ::munmap(aligned + size, static_cast<size_t>(first + page - aligned));
  ::madvise(aligned, size, MADV_HUGEPAGE);  // a wish
  return aligned;
}

}  // namespace

HugePages::~HugePages() {
  if (left_ > 0) give_back(free_, left_);
}

void* HugePages::take(int64_t bytes) {
  const int64_t needed = rounded_up(bytes, small_page());
  if (needed > left_) {
    const int64_t region = std::max(kRegion, rounded_up(needed, kHugePage));
    char* mapped = map_huge_pages(region);
    if (!mapped) return nullptr;
    if (left_ > 0) give_back(free_, left_);
    free_ = mapped;
    left_ = region;
  }
  void* piece = free_;
  free_ += needed;
  left_ -= needed;
  return piece;
}

void HugePages::give_back(void* piece, int64_t bytes) noexcept {
  ::munmap(piece, static_cast<size_t>(rounded_up(bytes, small_page())));
}

}  // namespace stator
