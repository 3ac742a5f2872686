// The k greatest or least elements of each row, and where they are. There is nothing in it for vectors, so there is one for all CPUs.
//
// Of equal elements those come first that LibTorch's algorithm leaves first, which is that of the standard library here as there; NaN is greater than
// any number.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

struct TopKSpec {
  int64_t rows = 1, count = 0, k = 0;  // 1 <= k <= count, elements of a row
  int64_t row_stride = 0, stride = 1;  // of the input, in elements
  bool greatest = true, sorted = true;
  int64_t parts = 1;
};

// Addresses: input, values and int64 indices (both [rows][k]), scratch of topk_bytes().
template <class T>
bool topk(const void* specification, void* const* addresses);  // float, double, int64_t

inline int64_t topk_bytes(const TopKSpec& spec) { return spec.parts * spec.count * 16; }

}  // namespace stator
