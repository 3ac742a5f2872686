// Copies of elements from anywhere to anywhere, as they are.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

constexpr int kMostCopyDims = 6;

// Runs of `bytes` neighbours, as many as the sizes say; innermost dimension last.
struct CopySpec {
  int32_t dims;  // at least 1
  int64_t sizes[kMostCopyDims];
  int64_t from[kMostCopyDims], to[kMostCopyDims];  // bytes from run to run
  int64_t bytes;
};

struct CopyKernels {
  BoundKernel copy;  // CopySpec; addresses: what is read, what is written
};

}  // namespace stator
