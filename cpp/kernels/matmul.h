// Products of float32 matrices, c = a b (+ bias) (+ addend) (then ReLU), over one or two outer dimensions. Packed b may be kept in 16 bits.
//
// Steps are in floats. Rows of c are contiguous; elements between `columns` and the next row are not touched.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

struct MatmulSpec {
  int64_t batches[2] = {1, 1};  // outer, inner
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t a_batch[2] = {0, 0}, a_row = 0, a_step = 1;     // a_step: from one element of the sum to the next
  int64_t b_batch[2] = {0, 0}, b_step = 0, b_column = 1;  // of packed b only b_batch counts, and is 0
  int64_t c_batch[2] = {0, 0}, c_row = 0;
  int64_t bias_batch[2] = {0, 0}, bias_row = 0;  // its columns are contiguous
  int64_t addend_batch[2] = {0, 0}, addend_row = 0;
  bool has_bias = false, has_addend = false;
  bool relu = false;
  int64_t parts = 1;
};

// Addresses: a, b, [bias,] [addend,] c, and what each kernel says.
struct MatmulKernels {
  int64_t panel;                             // columns of a panel
  BoundKernel packed;                        // b is panels as `pack` makes them, the same for all batches
  BoundKernel packed_bfloat16, packed_half;  // the same with such panels of 16 bits
  BoundKernel rows;                          // b_column is 1
  BoundKernel dots;                          // a_step and b_step are 1; for few rows or few columns; without addend
  BoundKernel packing;                       // any steps; one more address: scratch of packing_floats() floats
  // Makes panels of b: addresses b, panels. Only rows (no), columns, depth, b_step and b_column of the specification count.
  BoundKernel pack;
};

// Panels: [columns / panel, rounded up][depth][panel], columns that are missing are 0.
inline int64_t panel_floats(int64_t columns, int64_t depth, int64_t panel) {
  return (columns + panel - 1) / panel * panel * depth;
}

// Panels of one b at a time; in parts, of all that there are.
inline int64_t packing_floats(const MatmulSpec& spec, int64_t panel) {
  int64_t matrices = 1;
  for (int i = 0; spec.parts > 1 && i < 2; ++i) matrices *= spec.b_batch[i] == 0 ? 1 : spec.batches[i];
  return matrices * panel_floats(spec.columns, spec.depth, panel);
}

}  // namespace stator
