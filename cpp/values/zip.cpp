#include "values/zip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "graph/error.h"

namespace stator {
namespace {

// PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kDirectoryLocator64 = 0x07064b50;
constexpr uint64_t kLocalHeaderSize = 30;
constexpr uint64_t kDirectoryEntrySize = 46;
constexpr uint64_t kDirectoryEndSize = 22;
constexpr uint64_t kDirectoryEnd64Size = 56;
constexpr uint64_t kDirectoryLocator64Size = 20;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kEncrypted = 1 << 0;
constexpr uint16_t kUtf8 = 1 << 11;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint64_t k16 = 0xffff;
constexpr uint64_t k32 = 0xffffffff;
constexpr uint64_t kDeflateRatio = 1032;  // the most that deflate can gain

// Little-endian fields of a record that lies whole in memory; at() is bounds-checked.
class Record {
 public:
  explicit Record(std::string_view bytes) : bytes_(bytes) {}
  uint16_t u16(size_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(size_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(size_t at) const { return number(at, 8); }

 private:
  uint64_t number(size_t at, size_t size) const {
    uint64_t result = 0;
    for (size_t i = 0; i < size; ++i)
      result |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_.at(at + i))) << (8 * i);
    return result;
  }
  std::string_view bytes_;
};

void put(std::string& out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

[[noreturn]] void fail(ErrorCode code, const std::string& path, const std::string& why) {
  throw Error(code, path + ": " + why);
}

std::string system_message() { return std::strerror(errno); }

// Fields that do not fit 32 bits stand in the zip64 part of `extra`, in this order, if the record says so.
void apply_zip64(std::string_view extra, std::span<uint64_t* const> fields, const std::string& path) {
  if (std::none_of(fields.begin(), fields.end(), [](const uint64_t* f) { return *f == k32; })) return;
  for (size_t at = 0; at + 4 <= extra.size();) {
    const Record header(extra.substr(at, 4));
    const size_t size = header.u16(2);
    at += 4;
    if (size > extra.size() - at) break;
    if (header.u16(0) == kZip64Extra) {
      const Record record(extra.substr(at, size));
      size_t place = 0;
      for (uint64_t* field : fields) {
        if (*field != k32) continue;
        if (place + 8 > size)
          fail(ErrorCode::kBadModel, path, "the zip archive is damaged: a zip64 record is too short");
        *field = record.u64(place);
        place += 8;
      }
      return;
    }
    at += size;
  }
  // Without such a record the number is meant as it stands.
}

}  // namespace

ZipReader::ZipReader(std::string path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0)
    fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, path_, "cannot be opened: " + system_message());
  try {
    struct stat info{};
    if (::fstat(fd_, &info) != 0) fail(ErrorCode::kIo, path_, "cannot be read: " + system_message());
    if (!S_ISREG(info.st_mode)) fail(ErrorCode::kIo, path_, "is no regular file");
    size_ = static_cast<uint64_t>(info.st_size);
    read_directory();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

ZipReader::~ZipReader() { ::close(fd_); }

void ZipReader::read_at(uint64_t offset, void* out, uint64_t size) const {
  if (offset > size_ || size > size_ - offset)
    fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: it ends too early");
  auto* to = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = ::pread(fd_, to, std::min<uint64_t>(size, 1 << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::kIo, path_, "cannot be read: " + system_message());
    if (got == 0) fail(ErrorCode::kIo, path_, "became shorter while it was read");
    to += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
}

std::string ZipReader::read_at(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size > size_ - offset)
    fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: it ends too early");
  std::string result(size, '\0');
  read_at(offset, result.data(), size);
  return result;
}

void ZipReader::read_directory() {
  // The end record is the last thing but a comment of at most 65535 bytes.
  const uint64_t tail_size = std::min(size_, kDirectoryEndSize + k16);
  const std::string tail = read_at(size_ - tail_size, tail_size);
  uint64_t end = std::numeric_limits<uint64_t>::max();
  for (uint64_t back = kDirectoryEndSize; back <= tail_size; ++back) {
    const Record record(std::string_view(tail).substr(tail_size - back, kDirectoryEndSize));
    if (record.u32(0) == kDirectoryEnd && record.u16(20) == back - kDirectoryEndSize) {
      end = size_ - back;
      break;
    }
  }
  if (end == std::numeric_limits<uint64_t>::max())
    fail(ErrorCode::kBadModel, path_, "is no zip archive, or only the beginning of one");

  const std::string end_bytes = read_at(end, kDirectoryEndSize);
  const Record record(end_bytes);
  uint64_t disk = record.u16(4);
  uint64_t count = record.u16(10);
  uint64_t size = record.u32(12);
  uint64_t offset = record.u32(16);
  if ((count == k16 || size == k32 || offset == k32 || disk == k16) && end >= kDirectoryLocator64Size) {
    const std::string locator_bytes = read_at(end - kDirectoryLocator64Size, kDirectoryLocator64Size);
    const Record locator(locator_bytes);
    if (locator.u32(0) == kDirectoryLocator64) {
      const std::string end64_bytes = read_at(locator.u64(8), kDirectoryEnd64Size);
      const Record end64(end64_bytes);
      if (end64.u32(0) != kDirectoryEnd64)
        fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: its zip64 end record is missing");
      disk = end64.u32(16);
      count = end64.u64(32);
      size = end64.u64(40);
      offset = end64.u64(48);
    }
  }
  if (disk != 0) fail(ErrorCode::kUnsupported, path_, "is one part of a split zip archive");
  if (offset > end || size > end - offset || count > size / kDirectoryEntrySize) {
    fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: its directory lies outside the file");
  }
  read_members(read_at(offset, size), count, offset);
}

void ZipReader::read_members(const std::string& directory, uint64_t count, uint64_t directory_offset) {
  std::vector<uint64_t> headers;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view rest = std::string_view(directory).substr(at);
    const Record record(rest);
    if (rest.size() < kDirectoryEntrySize || record.u32(0) != kDirectoryEntry) {
      fail(ErrorCode::kBadModel, path_,
           "the zip archive is damaged: entry " + std::to_string(i) + " of its directory is broken");
    }
    const uint64_t name_size = record.u16(28);
    const uint64_t extra_size = record.u16(30);
    const uint64_t entry_size = kDirectoryEntrySize + name_size + extra_size + record.u16(32);
    if (entry_size > rest.size()) {
      fail(ErrorCode::kBadModel, path_,
           "the zip archive is damaged: entry " + std::to_string(i) + " of its directory is cut off");
    }
    ZipMember member;
    member.name = rest.substr(kDirectoryEntrySize, name_size);
    member.crc = record.u32(16);
    member.stored_size = record.u32(20);
    member.size = record.u32(24);
    member.header = record.u32(42);
    const std::array<uint64_t*, 3> fields = {&member.size, &member.stored_size, &member.header};
    apply_zip64(rest.substr(kDirectoryEntrySize + name_size, extra_size), fields, path_);

    const std::string what = "member \"" + member.name + "\" ";
    const uint16_t method = record.u16(10);
    if (record.u16(8) & kEncrypted) fail(ErrorCode::kUnsupported, path_, what + "is encrypted");
    if (method != kStored && method != kDeflated) {
      fail(ErrorCode::kUnsupported, path_,
           what + "is compressed by method " + std::to_string(method) + "; only stored and deflated ones can be read");
    }
    member.deflated = method == kDeflated;
    const bool possible =
        member.deflated ? member.size / kDeflateRatio <= member.stored_size : member.size == member.stored_size;
    if (!possible || member.header > directory_offset)
      fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: the sizes of " + what + "cannot be");
    headers.push_back(member.header);
    members_.push_back(std::move(member));
    at += entry_size;
  }
  // Members may not overlap: a small file could else unfold into any amount of memory.
  std::sort(headers.begin(), headers.end());
  headers.push_back(directory_offset);
  for (ZipMember& member : members_) {
    member.limit = *(std::lower_bound(headers.begin(), headers.end(), member.header) + 1);
    if (member.limit - member.header < kLocalHeaderSize ||
        member.stored_size > member.limit - member.header - kLocalHeaderSize) {
      fail(ErrorCode::kBadModel, path_, "the zip archive is damaged: member \"" + member.name + "\" overlaps another");
    }
  }
}

struct ZipMemberStream::Inflater {
  Inflater() {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      throw Error(ErrorCode::kOutOfMemory, "no memory for zlib's decompressor");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool ended = false;
  std::array<uint8_t, 1 << 16> buffer;
};

ZipMemberStream::ZipMemberStream(const ZipReader& zip, const ZipMember& member) : zip_(zip), member_(member) {
  const std::string header_bytes = zip.read_at(member.header, kLocalHeaderSize);
  const Record header(header_bytes);
  if (header.u32(0) != kLocalHeader) damaged("its local header is missing");
  offset_ = member.header + kLocalHeaderSize + header.u16(26) + header.u16(28);
  if (offset_ > member.limit || member.stored_size > member.limit - offset_) damaged("it overlaps what follows");
  end_ = offset_ + member.stored_size;
  if (member.deflated) inflater_ = std::make_unique<Inflater>();
}

ZipMemberStream::~ZipMemberStream() = default;

void ZipMemberStream::damaged(const char* why) const {
  fail(ErrorCode::kBadModel, zip_.path(), "the zip archive is damaged: member \"" + member_.name + "\": " + why);
}

void ZipMemberStream::read(void* out, uint64_t size) {
  if (size > remaining()) damaged("it ends too early");
  auto* to = static_cast<uint8_t*>(out);
  if (inflater_) {
    inflate_into(to, size);
  } else {
    zip_.read_at(offset_, to, size);
    offset_ += size;
  }
  if (size > 0) crc_ = static_cast<uint32_t>(crc32_z(crc_, to, size));
  done_ += size;
}

void ZipMemberStream::inflate_into(uint8_t* out, uint64_t size) {
  z_stream& stream = inflater_->stream;
  while (size > 0) {
    if (inflater_->ended) damaged("it unfolds to less than it says");
    if (stream.avail_in == 0) {
      const uint64_t chunk = std::min<uint64_t>(end_ - offset_, inflater_->buffer.size());
      if (chunk == 0) damaged("its compressed data ends too early");
      zip_.read_at(offset_, inflater_->buffer.data(), chunk);
      offset_ += chunk;
      stream.next_in = inflater_->buffer.data();
      stream.avail_in = static_cast<uInt>(chunk);
    }
    const auto room = static_cast<uInt>(std::min<uint64_t>(size, 1 << 30));
    stream.next_out = out;
    stream.avail_out = room;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw Error(ErrorCode::kOutOfMemory, "no memory for zlib's decompressor");
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) damaged("its compressed data is broken");
    inflater_->ended = result == Z_STREAM_END;
    out += room - stream.avail_out;
    size -= room - stream.avail_out;
  }
}

void ZipMemberStream::finish() {
  if (remaining() != 0) damaged("there is more in it than its array");
  if (crc_ != member_.crc) damaged("its checksum is wrong");
}

ZipWriter::ZipWriter(std::string path) : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {
  if (!file_) fail(ErrorCode::kIo, path_, "cannot be written: " + system_message());
}

void ZipWriter::write(const void* data, uint64_t size) {
  errno = 0;
  file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (!file_) fail(ErrorCode::kIo, path_, "cannot be written, the file is incomplete: " + system_message());
  offset_ += size;
}

void ZipWriter::add(std::string_view name, std::span<const uint8_t> head, std::span<const uint8_t> body) {
  if (name.size() > k16)
    fail(ErrorCode::kUnsupported, path_,
         "a name of " + std::to_string(name.size()) + " bytes does not fit a zip archive");
  const uint64_t size = head.size() + body.size();
  uLong crc = crc32_z(0, head.data(), head.size());
  if (!body.empty()) crc = crc32_z(crc, body.data(), body.size());
  const uint64_t header_offset = offset_;
  const bool large = size >= k32;
  const bool far = header_offset >= k32;

  std::string common;  // from "version needed" up to the length of the name, as both records have it
  put(common, large || far ? 45 : 20, 2);
  put(common, kUtf8, 2);
  put(common, kStored, 2);
  put(common, 0, 2);             // time
  put(common, (1 << 5) | 1, 2);  // date: 1980-01-01, so that equal arrays make equal files
  put(common, crc, 4);
  put(common, large ? k32 : size, 4);
  put(common, large ? k32 : size, 4);
  put(common, name.size(), 2);

  std::string extra;
  if (large) {
    put(extra, kZip64Extra, 2);
    put(extra, 16, 2);
    put(extra, size, 8);
    put(extra, size, 8);
  }
  std::string header;
  put(header, kLocalHeader, 4);
  header += common;
  put(header, extra.size(), 2);
  header += name;
  header += extra;
  write(header.data(), header.size());
  write(head.data(), head.size());
  write(body.data(), body.size());

  extra.clear();
  if (large || far) {
    put(extra, kZip64Extra, 2);
    put(extra, (large ? 16 : 0) + (far ? 8 : 0), 2);
    if (large) {
      put(extra, size, 8);
      put(extra, size, 8);
    }
    if (far) put(extra, header_offset, 8);
  }
  put(directory_, kDirectoryEntry, 4);
  put(directory_, (3 << 8) | 45, 2);  // made by: Unix
  directory_ += common;
  put(directory_, extra.size(), 2);
  put(directory_, 0, 2);  // no comment
  put(directory_, 0, 2);  // disk
  put(directory_, 0, 2);  // internal attributes
  put(directory_, 0100644u << 16, 4);
  put(directory_, far ? k32 : header_offset, 4);
  directory_ += name;
  directory_ += extra;
  ++count_;
}

void ZipWriter::finish() {
  const uint64_t offset = offset_;
  const uint64_t size = directory_.size();
  std::string end;
  if (count_ >= k16 || size >= k32 || offset >= k32) {
    put(end, kDirectoryEnd64, 4);
    put(end, kDirectoryEnd64Size - 12, 8);
    put(end, (3 << 8) | 45, 2);
    put(end, 45, 2);
    put(end, 0, 8);  // disks
    put(end, count_, 8);
    put(end, count_, 8);
    put(end, size, 8);
    put(end, offset, 8);
    put(end, kDirectoryLocator64, 4);
    put(end, 0, 4);
    put(end, offset + size, 8);
    put(end, 1, 4);
  }
  put(end, kDirectoryEnd, 4);
  put(end, 0, 4);  // disks
  put(end, std::min(count_, k16), 2);
  put(end, std::min(count_, k16), 2);
  put(end, std::min(size, k32), 4);
  put(end, std::min(offset, k32), 4);
  put(end, 0, 2);
  write(directory_.data(), size);
  write(end.data(), end.size());
  file_.close();
  if (!file_) fail(ErrorCode::kIo, path_, "cannot be written, the file is incomplete: " + system_message());
}

}  // namespace stator
