// Elements of each row by their order: all of them sorted, or the k greatest or least, and where they were. There is nothing in it for
// vectors, so there is one for all CPUs. NaN is greater than any number.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

struct RowOrderSpec {
  int64_t rows = 1, count = 0;         // elements of a row
  int64_t k = 0;                       // of them wanted, 1 <= k <= count
  int64_t row_stride = 0, stride = 1;  // of the input, in elements
  bool greatest = true;                // come first
  bool sorted = true;                  // for topk()
  bool stable = false;                 // for sort_rows(): equal elements stay in their order
  int64_t parts = 1;
};

// Addresses: input, values and int64 indices (both [rows][k]), scratch of row_order_bytes(). For float, double and int64_t.

// Of equal elements those come first that LibTorch's algorithms leave first, which are those of the standard library here as there.
template <class T>
bool topk(const void* specification, void* const* addresses);
template <class T>
bool sort_rows(const void* specification, void* const* addresses);

inline int64_t row_order_bytes(const RowOrderSpec& spec) { return spec.parts * spec.count * 16; }

}  // namespace stator
