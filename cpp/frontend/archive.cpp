#include "frontend/archive.h"

#include <caffe2/serialize/versions.h>
#include <zlib.h>

#include <cctype>
#include <charconv>
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
constexpr uint16_t kDeflated = 8;
// torch.jit.save deflates a model's source code, which becomes some ten times smaller.
constexpr uint64_t kMostInflated = 16 << 20, kMostInflatedTimes = 100;

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
      const auto method = number<uint16_t>(offset + 10);
      member.compressed = method != 0;
      member.deflated = method == kDeflated;
      member.checksum = number<uint32_t>(offset + 16);
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
    return stored_bytes_of(member);
  }

  std::span<const char> stored_bytes_of(const ArchiveMember& member) const {
    if (number<uint32_t>(member.header) != kLocalSignature)
      damaged("\"" + member.name + "\" is not where it should be");
    const uint64_t start =
        member.header + kLocalSize + number<uint16_t>(member.header + 26) + number<uint16_t>(member.header + 28);
    need(start, member.stored_size);
    return bytes_.subspan(start, member.stored_size);
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

std::string inflated(std::span<const char> stored, const ArchiveMember& member) {
  std::string out(member.size, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool fits = stored.size() == stream.avail_in && out.size() == stream.avail_out;
  if (!fits || inflateInit2(&stream, -MAX_WBITS) != Z_OK) damaged("\"" + member.name + "\" cannot be read");
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) damaged("\"" + member.name + "\" holds something else than it says");
  return out;
}

void check_inflated_size(std::span<const char> bytes, const std::vector<ArchiveMember>& members) {
  const uint64_t most = kMostInflated + kMostInflatedTimes * bytes.size();
  uint64_t total = 0;
  for (const ArchiveMember& member : members) {
    if (!member.compressed) continue;
    if (member.size > most - total) damaged("its compressed members say that they hold more than they can");
    total += member.size;
  }
}

// LibTorch's reader loses memory when it refuses one.
void check_version(std::span<const char> bytes, const ArchiveMember& member) {
  using caffe2::serialize::kMaxSupportedFileFormatVersion;
  using caffe2::serialize::kMinSupportedFileFormatVersion;
  const std::string content = member_content(bytes, member);
  uint64_t version = 0;
  const auto failure = std::from_chars(content.data(), content.data() + content.size(), version).ec;
  if (failure == std::errc() && version >= kMinSupportedFileFormatVersion && version <= kMaxSupportedFileFormatVersion)
    return;
  constexpr size_t kShown = 20;
  throw Error(ErrorCode::kBadModel, "expected a version from " + std::to_string(kMinSupportedFileFormatVersion) +
                                        " to " + std::to_string(kMaxSupportedFileFormatVersion) + " in \"" +
                                        member.name + "\", got \"" + content.substr(0, kShown) + "\"");
}

}  // namespace

std::string folded(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::vector<ArchiveMember> archive_members(std::span<const char> bytes) { return Directory(bytes).members(); }

std::span<const char> member_bytes(std::span<const char> bytes, const ArchiveMember& member) {
  return Directory(bytes).bytes_of(member);
}

std::string member_content(std::span<const char> bytes, const ArchiveMember& member) {
  const Directory directory(bytes);
  if (member.deflated) return inflated(directory.stored_bytes_of(member), member);
  const auto content = directory.bytes_of(member);
  return {content.begin(), content.end()};
}

std::span<const char> checked_member_bytes(std::span<const char> bytes, const ArchiveMember& member) {
  const auto found = member_bytes(bytes, member);
  const auto checksum = ::crc32_z(0, reinterpret_cast<const Bytef*>(found.data()), found.size());
  if (checksum != member.checksum) damaged("the checksum of \"" + member.name + "\" is wrong");
  return found;
}

void check_archive(std::span<const char> bytes) {
  auto members = archive_members(bytes);
  check_inflated_size(bytes, members);
  auto slash = members.empty() ? std::string::npos : members[0].name.find('/');
  std::string root = slash == std::string::npos ? "" : members[0].name.substr(0, slash + 1);
  bool found = false;
  for (const ArchiveMember& member : members) {
    if (root.empty() || (member.name != root + "version" && member.name != root + ".data/version")) continue;
    check_version(bytes, member);
    found = true;
  }
  if (!found)
    throw Error(ErrorCode::kBadModel, "expected an archive of PyTorch, got a zip archive that holds no model");
}

}  // namespace stator
