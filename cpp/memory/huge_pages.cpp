#include "memory/huge_pages.h"

#include <sys/mman.h>

namespace stator {

void* map_huge_pages(int64_t bytes) {
  const size_t size = static_cast<size_t>(bytes), page = static_cast<size_t>(kHugePage);
  void* mapped = ::mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<char*>(mapped);
  auto* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(first) + page - 1) / page * page);
  if (aligned != first) ::munmap(first, static_cast<size_t>(aligned - first));
  // What is behind ends where whole small pages do.
  constexpr size_t kSmallPage = 4096;
  char* end = aligned + (size + kSmallPage - 1) / kSmallPage * kSmallPage;
  if (end < first + size + page) ::munmap(end, static_cast<size_t>(first + size + page - end));
  ::madvise(aligned, static_cast<size_t>(end - aligned), MADV_HUGEPAGE);  // a wish
  return aligned;
}

void unmap_huge_pages(void* mapped, int64_t bytes) { ::munmap(mapped, static_cast<size_t>(bytes)); }

}  // namespace stator
