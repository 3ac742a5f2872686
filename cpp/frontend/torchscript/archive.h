// A look at an archive before LibTorch's reader gets it: that one leaks what it has set up when it refuses a file.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace stator {

// The names of what a zip archive holds, in its directory's order. Nothing outside `bytes` is read.
// Throws Error(kBadModel) if the archive is damaged, truncated, or no zip.
std::vector<std::string> archive_members(std::span<const char> bytes);

// Throws Error(kBadModel) unless the archive has PyTorch's form: one folder with a member "version".
void check_archive(std::span<const char> bytes);

}  // namespace stator
