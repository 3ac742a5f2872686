// Which table of kernels this process uses: the one for the CPU capability that LibTorch chose for its own kernels, so that
// ATEN_CPU_CAPABILITY limits both.
#pragma once

#include <string_view>

#include "kernels/table.h"

namespace stator {

// Chosen at the first call, then fixed.
const KernelTable& kernels();

// NULL if none was built for this capability. Whether the CPU can run it is the caller's question.
const KernelTable* find_kernels(std::string_view capability);

}  // namespace stator
