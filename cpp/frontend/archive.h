// The directory of a zip archive, read with every offset checked. LibTorch's own reader leaks what it has set up when it refuses a file,
// and lends no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stator {

// Memory that holds an archive. Weights may point into it; they keep it alive.
struct ArchiveBytes {
  std::shared_ptr<const void> data;
  size_t size = 0;
  std::span<const char> span() const { return {static_cast<const char*>(data.get()), size}; }
};

struct ArchiveMember {
  std::string name;
  uint64_t header = 0;  // where its local header is
  uint64_t stored_size = 0;
  uint64_t size = 0;
  uint32_t checksum = 0;
  bool compressed = false;
  bool deflated = false;  // compressed in the one way that can be read
};

// The name by which LibTorch finds a member: without regard to case.
std::string folded(std::string name);

// What a zip archive holds, in its directory's order. Nothing outside `bytes` is read.
// Throws Error(kBadModel) if the archive is damaged, truncated, or no zip.
std::vector<ArchiveMember> archive_members(std::span<const char> bytes);

// The bytes of a member that is not compressed. Throws Error(kBadModel) if they do not lie in the archive, or are compressed.
std::span<const char> member_bytes(std::span<const char> bytes, const ArchiveMember& member);

// As member_bytes(), and they have the checksum that the archive gives them.
std::span<const char> checked_member_bytes(std::span<const char> bytes, const ArchiveMember& member);

// The same of one that may be deflated. Not more than its directory says is read.
std::string member_content(std::span<const char> bytes, const ArchiveMember& member);

// Throws Error(kBadModel) unless the archive has PyTorch's form: one folder with a member "version" that LibTorch reads; and if
// compressed members say that they hold what no program's source does, since whoever reads them makes room first.
void check_archive(std::span<const char> bytes);

}  // namespace stator
