// The files in a torch.export archive. Three layouts: raw weights in PyTorch's archive (torch 2.9 and later), pickled weights in it (2.8), and
// a zip archive without folders (2.5 to 2.7).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/archive.h"

namespace stator::exported {

class Records {
 public:
  // Throws Error(kBadModel or kUnsupported) unless it is an archive of a version and byte order that can be read.
  explicit Records(ArchiveBytes bytes);

  const ArchiveBytes& archive() const { return bytes_; }
  bool has(const std::string& name) const { return members_.count(name) != 0; }
  // Lie in the archive. Throws Error(kBadModel) if there is no such record.
  std::span<const char> bytes(const std::string& name) const;
  std::string_view text(const std::string& name) const;
  // The one program in it.
  std::string_view program() const { return text(program_); }
  // The tables of raw weights and constants, and the folders of what they name; those that are there.
  struct Table {
    std::string folder;
    std::string name;
  };
  const std::vector<Table>& tables() const { return tables_; }
  // Files of torch.save with weights and constants by name.
  const std::vector<std::string>& pickles() const { return pickles_; }

 private:
  void check_format() const;
  void find_program();

  ArchiveBytes bytes_;
  std::unordered_map<std::string, ArchiveMember> members_;  // without the archive's own folder
  std::string program_;
  std::vector<Table> tables_;
  std::vector<std::string> pickles_;
};

}  // namespace stator::exported
