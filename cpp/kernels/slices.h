// Kernels in turns, each for a slice of its channels or rows: what one makes for the next is still in the caches then. There is nothing in it for
// vectors, so there is one for all CPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/bound_kernel.h"

namespace stator {

struct SlicesSpec {
  // The address of one of a kernel's operands is that of all slices, and so many bytes for each row and each part before this one.
  struct Operand {
    int32_t address = 0;
    int64_t row_step = 0, part_step = 0;
    int64_t outer_step = 0;  // from one outer one to the next
  };
  // Of a kernel that cannot fail, and takes one part.
  struct Call {
    BoundKernel kernel = nullptr;
    std::shared_ptr<const void> specification;
    std::vector<Operand> operands;
    bool once = false;  // for the first of a part's slices only
  };

  // A slice is `height` rows of the `rows` that there are in each of `outer` ones. The last slice of these has rows of the one before as well, if that
  // does not come out even; then there is one part.
  std::vector<Call> calls;
  int64_t outer = 1, rows = 1, height = 1, parts = 1;

  int64_t slices_each() const { return (rows + height - 1) / height; }
};

constexpr size_t kMostSliceOperands = 16;

bool run_slices(const void* specification, void* const* addresses);

}  // namespace stator
