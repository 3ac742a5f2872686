#include "frontend/archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "graph/error.h"

namespace stator {
namespace {

// From APPNOTE.TXT, PKWARE's specification of .ZIP files, sections 4.3.12 to 4.3.16.
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint32_t kMemberSignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22;
constexpr size_t kLocator64Size = 20;
constexpr size_t kMemberSize = 46;
constexpr size_t kLocalSize = 30;
constexpr uint16_t kZip64Field = 1;
constexpr uint32_t kInZip64 = 0xffffffff;  // the number stands in the Zip64 field
constexpr size_t kLongestComment = 0xffff;

[[noreturn]] void damaged(const std::string& why) {
  throw Error(ErrorCode::kBadModel, "the archive is damaged or truncated: " + why);
}

class Directory {
 public:
  explicit Directory(std::span<const char> bytes) : bytes_(bytes) {}

  std::vector<ArchiveMember> members() {
    uint64_t end = find_end();
    uint64_t count = number<uint16_t>(end + 10);
    uint64_t offset = number<uint32_t>(end + 16);
    if (end >= kLocator64Size && number<uint32_t>(end - kLocator64Size) == kLocator64Signature) {
      auto end64 = number<uint64_t>(end - kLocator64Size + 8);
      if (number<uint32_t>(end64) != kEnd64Signature) damaged("its directory is not where it should be");
      count = number<uint64_t>(end64 + 32);
      offset = number<uint64_t>(end64 + 48);
    }
    if (count > bytes_.size() / kMemberSize) damaged("its directory is longer than the file");
    std::vector<ArchiveMember> members;
    for (uint64_t i = 0; i < count; ++i) {
      if (number<uint32_t>(offset) != kMemberSignature) damaged("its directory is not where it should be");
      auto name_size = number<uint16_t>(offset + 28);
      auto extra_size = number<uint16_t>(offset + 30);
      auto comment_size = number<uint16_t>(offset + 32);
      need(offset + kMemberSize, uint64_t{name_size} + extra_size);
      ArchiveMember& member = members.emplace_back();
      member.name.assign(bytes_.data() + offset + kMemberSize, name_size);
      member.compressed = number<uint16_t>(offset + 10) != 0;
      member.stored_size = number<uint32_t>(offset + 20);
      member.size = number<uint32_t>(offset + 24);
      member.header = number<uint32_t>(offset + 42);
      read_zip64(member, offset + kMemberSize + name_size, extra_size);
      offset += kMemberSize + name_size + extra_size + comment_size;
    }
    return members;
  }

  std::span<const char> bytes_of(const ArchiveMember& member) const {
    if (member.compressed || member.stored_size != member.size) damaged("\"" + member.name + "\" is compressed");
    if (number<uint32_t>(member.header) != kLocalSignature)
      damaged("\"" + member.name + "\" is not where it should be");
    const uint64_t start =
        member.header + kLocalSize + number<uint16_t>(member.header + 26) + number<uint16_t>(member.header + 28);
    need(start, member.size);
    return bytes_.subspan(start, member.size);
  }

 private:
  // Of the numbers that the field may hold, only those are there that do not fit their own places.
  void read_zip64(ArchiveMember& member, uint64_t offset, uint64_t size) const {
    const uint64_t end = offset + size;
    while (offset + 4 <= end) {
      const auto kind = number<uint16_t>(offset), length = number<uint16_t>(offset + 2);
      offset += 4;
      if (kind == kZip64Field) {
        for (uint64_t* field : {&member.size, &member.stored_size, &member.header}) {
          if (*field != kInZip64) continue;
          if (offset + sizeof(uint64_t) > end) damaged("its directory points outside the file");
          *field = number<uint64_t>(offset);
          offset += sizeof(uint64_t);
        }
        return;
      }
      offset += length;
    }
  }

  void need(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) damaged("its directory points outside the file");
  }

  template <class T>
  T number(uint64_t offset) const {
    need(offset, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));  // little endian, as the machine
    return value;
  }

  uint64_t find_end() const {
    if (bytes_.size() < kEndSize) damaged("it is too short for a zip archive");
    uint64_t last = bytes_.size() - kEndSize;
    uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (number<uint32_t>(at) == kEndSignature) return at;
    }
    damaged("it has no end");
  }

  std::span<const char> bytes_;
};

}  // namespace

std::vector<ArchiveMember> archive_members(std::span<const char> bytes) { return Directory(bytes).members(); }

std::span<const char> member_bytes(std::span<const char> bytes, const ArchiveMember& member) {
  return Directory(bytes).bytes_of(member);
}

void check_archive(std::span<const char> bytes) {
  auto members = archive_members(bytes);
  auto slash = members.empty() ? std::string::npos : members[0].name.find('/');
  if (slash == std::string::npos)
    throw Error(ErrorCode::kBadModel, "expected an archive of PyTorch, got a zip archive that holds no model");
  std::string root = members[0].name.substr(0, slash + 1);
  for (const char* version : {"version", ".data/version"}) {
    if (std::any_of(members.begin(), members.end(), [&](const auto& member) { return member.name == root + version; }))
      return;
  }
  throw Error(ErrorCode::kBadModel, "expected an archive of PyTorch, got a zip archive that holds no model");
}

}  // namespace stator
