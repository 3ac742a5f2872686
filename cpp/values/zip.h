// Zip archives with stored and deflated members, zip64 included: what .npz files are made of.
//
// Every number in a file is checked before it is used: nothing is read outside the file or outside a member's own bytes.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stator {

struct ZipMember {
  std::string name;
  uint64_t size = 0;         // of what it holds
  uint64_t stored_size = 0;  // in the file
  uint64_t header = 0;       // where its local header begins
  uint64_t limit = 0;        // where the next member, or the directory, begins
  uint32_t crc = 0;
  bool deflated = false;
};

class ZipReader {
 public:
  // Throws Error: NOT_FOUND, IO, BAD_MODEL (damaged), UNSUPPORTED (encrypted, split, another compression).
  explicit ZipReader(std::string path);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<ZipMember>& members() const { return members_; }

 private:
  friend class ZipMemberStream;
  void read_at(uint64_t offset, void* out, uint64_t size) const;
  std::string read_at(uint64_t offset, uint64_t size) const;
  void read_directory();
  void read_members(const std::string& directory, uint64_t count, uint64_t directory_offset);

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  std::vector<ZipMember> members_;
};

// The bytes of one member, in order. `zip` and `member` must outlive it.
class ZipMemberStream {
 public:
  ZipMemberStream(const ZipReader& zip, const ZipMember& member);
  ~ZipMemberStream();

  uint64_t remaining() const { return member_.size - done_; }
  void read(void* out, uint64_t size);  // all of `size`, or throws
  void finish();                        // throws unless all was read and the checksum holds

 private:
  struct Inflater;
  void inflate_into(uint8_t* out, uint64_t size);
  [[noreturn]] void damaged(const char* why) const;

  const ZipReader& zip_;
  const ZipMember& member_;
  uint64_t offset_ = 0;  // in the file, of what is read next
  uint64_t end_ = 0;
  uint64_t done_ = 0;
  uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

// Writes members uncompressed. An archive is complete only after finish().
class ZipWriter {
 public:
  explicit ZipWriter(std::string path);  // throws Error: IO
  // The member is `head` followed by `body`.
  void add(std::string_view name, std::span<const uint8_t> head, std::span<const uint8_t> body);
  void finish();

 private:
  void write(const void* data, uint64_t size);

  std::string path_;
  std::ofstream file_;
  uint64_t offset_ = 0;
  uint64_t count_ = 0;
  std::string directory_;
};

}  // namespace stator
