// Kernels in turns, each for a slice of its channels: what one makes for the next is still in the caches then. There is nothing in it for
// vectors, so there is one for all CPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/bound_kernel.h"

namespace stator {

struct SlicesSpec {
  // The address of one of a kernel's operands is that of all slices, and so many bytes for each slice and for each part before this one.
  struct Operand {
    int32_t address = 0;
    int64_t slice_step = 0, part_step = 0;
  };
  // Of a kernel that cannot fail, and takes one part.
  struct Call {
    BoundKernel kernel = nullptr;
    std::shared_ptr<const void> specification;
    std::vector<Operand> operands;
    bool once = false;  // for the first of a part's slices only
  };

  std::vector<Call> calls;
  int64_t slices = 1, parts = 1;
};

constexpr size_t kMostSliceOperands = 8;

bool run_slices(const void* specification, void* const* addresses);

}  // namespace stator
