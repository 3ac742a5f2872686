// A look at pickles before LibTorch reads them: its unpickler makes room for whatever a file says, and takes a tensor's memory to be as large
// as the pickle says, whatever the record holds.
#pragma once

#include <span>

namespace stator {

// Throws Error(kBadModel) if a pickle in the archive announces more than it holds, or tensors larger than their records.
void check_pickles(std::span<const char> archive);

}  // namespace stator
