// Large pieces of memory that stay, in few pages: so that reading all of one does not wait for addresses to be translated.
#pragma once

#include <cstdint>

namespace stator {

constexpr int64_t kHugePage = int64_t{2} << 20;

// `bytes`, not 0, aligned to a huge page and zero: in such pages where the system has them, what is left in small ones. NULL if there is no memory.
void* map_huge_pages(int64_t bytes);
void unmap_huge_pages(void* mapped, int64_t bytes);

}  // namespace stator
