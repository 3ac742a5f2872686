#include "frontend/torchscript/archive.h"

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
constexpr size_t kEndSize = 22;
constexpr size_t kLocator64Size = 20;
constexpr size_t kMemberSize = 46;
constexpr size_t kLongestComment = 0xffff;

class Directory {
 public:
  explicit Directory(std::span<const char> bytes) : bytes_(bytes) {}

  std::vector<std::string> members() {
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
    std::vector<std::string> names;
    for (uint64_t i = 0; i < count; ++i) {
      if (number<uint32_t>(offset) != kMemberSignature) damaged("its directory is not where it should be");
      auto name_size = number<uint16_t>(offset + 28);
      uint64_t rest = uint64_t{number<uint16_t>(offset + 30)} + number<uint16_t>(offset + 32);
      need(offset + kMemberSize, name_size);
      names.emplace_back(bytes_.data() + offset + kMemberSize, name_size);
      offset += kMemberSize + name_size + rest;
    }
    return names;
  }

 private:
  [[noreturn]] static void damaged(const char* why) {
    throw Error(ErrorCode::kBadModel, std::string("the archive is damaged or truncated: ") + why);
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

std::vector<std::string> archive_members(std::span<const char> bytes) { return Directory(bytes).members(); }

void check_archive(std::span<const char> bytes) {
  auto members = archive_members(bytes);
  auto slash = members.empty() ? std::string::npos : members[0].find('/');
  if (slash == std::string::npos)
    throw Error(ErrorCode::kBadModel, "expected an archive of PyTorch, got a zip archive that holds no model");
  std::string root = members[0].substr(0, slash + 1);
  for (const char* version : {"version", ".data/version"}) {
    if (std::find(members.begin(), members.end(), root + version) != members.end()) return;
  }
  throw Error(ErrorCode::kBadModel, "expected an archive of PyTorch, got a zip archive that holds no model");
}

}  // namespace stator
