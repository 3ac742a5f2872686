// A look at what an archive says of where its code came from, before LibTorch reads it to explain an error, or for the sources of nodes: it
// takes indices, and tuples to be as long as they should be, as they are.
#pragma once

#include <span>

namespace stator {

// check_pickles() comes first. Throws Error(kBadModel) for a record that is not what LibTorch writes.
void check_debug_records(std::span<const char> archive);

}  // namespace stator
