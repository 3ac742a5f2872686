// Kernels that pick elements and rows by indices. Each returns false for an index that is out of range.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

// `count` runs of `bytes` bytes of each of `outer` tables with `size` runs. `wide`: indices are int64, else int32. `negative`: they may count
// from the end.
struct PickRunsSpec {
  int64_t outer, size, count, bytes;
  int64_t outer_stride, stride;  // bytes, in the tables
  int64_t to_outer, to_stride;   // bytes, in what is written
  bool wide, negative;
  int64_t parts = 1;
};

constexpr int kMostIndices = 4;

// As PickRunsSpec, by several int64 indices at once, which broadcast: each moves on by `step`, 0 or 1.
struct PickByManySpec {
  int64_t outer, count, bytes;
  int64_t outer_stride;
  int64_t to_outer, to_stride;
  int indices;
  int64_t size[kMostIndices], stride[kMostIndices];  // of the dimension that is picked from; bytes
  int64_t step[kMostIndices];
  int64_t parts = 1;
};

// Elements at offsets that are known.
struct PickOffsetsSpec {
  int64_t outer, count, bytes;
  int64_t outer_stride;  // bytes
  int64_t to_outer, to_stride;
  int64_t parts = 1;
};

// aten::gather: along a dimension of [outer, size, inner] by indices [outer, count, inner], all contiguous.
struct GatherSpec {
  int64_t outer, size, count, inner;
  int64_t bytes;  // of an element: 1, 4 or 8
};

enum class BagMode : int32_t { kSum, kMean };

// Rows of a table of float32, summed by bags.
struct BagsSpec {
  int64_t rows, row_stride, size;  // of the table; elements
  int64_t bags, indices;
  int64_t to_stride;  // from bag to bag in what is written; elements
  BagMode mode;
  bool wide;           // indices and offsets are int64, else int32
  bool last_offset;    // there is one more offset: the end
  bool weighted;       // one float32 an index
  bool has_bags_of;    // written as well: the bag of each index
  bool has_bag_sizes;  // and how many each bag holds, twice; else zeros, one for each offset
  int64_t parts = 1;
};

struct OneHotSpec {
  int64_t count, classes;
};

struct GatherKernels {
  // Addresses: tables, indices, result.
  BoundKernel pick_runs;     // PickRunsSpec
  BoundKernel pick_by_many;  // PickByManySpec; as many addresses of indices
  BoundKernel pick_offsets;  // PickOffsetsSpec; offsets are int32, bytes
  BoundKernel gather;        // GatherSpec

  // BagsSpec. Addresses: table, indices, offsets, weights (if there), result, the bag of each index (if there), two times sizes of bags (in the
  // type of the indices).
  BoundKernel bags;

  // OneHotSpec. Addresses: int64 classes, int64 result.
  BoundKernel one_hot;
};

}  // namespace stator
