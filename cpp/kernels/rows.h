// Kernels that make rows of rows: softmax, normalisations, running sums. float32.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

// Along a dimension, with others outside and inside of it; none is empty. Strides in elements, of what is read; what is written is
// contiguous.
struct AlongSpec {
  int64_t outer, size, inner;
  int64_t outer_stride, stride, inner_stride;
  int64_t parts = 1;
};

// Rows of neighbours, a number of rows apart by `row_stride` elements; what is written is contiguous.
struct NormalizeRowsSpec {
  int64_t rows, size;
  int64_t row_stride;
  float eps;
  bool has_weight, has_bias;  // by element of a row
  bool has_statistics;
  int64_t parts = 1;
};

// Each of `groups` rows holds `channels` times `size` contiguous elements.
struct NormalizeGroupsSpec {
  int64_t batch, groups, channels, size;
  float eps;
  bool has_weight, has_bias;  // by channel of a batch's element: groups * channels
  bool has_statistics;
  int64_t parts = 1;
};

// y = x * scale + shift by channel: [outer, channels, inner], contiguous.
struct ScaleChannelsSpec {
  int64_t outer, channels, inner;
  int64_t parts = 1;
};

// What a batch norm with known statistics is, as scale and shift by channel.
struct FoldBatchNormSpec {
  int64_t channels;
  float eps;
  bool has_weight, has_bias;
};

struct RowKernels {
  // AlongSpec. Addresses: what is read, what is written.
  BoundKernel softmax, log_softmax;
  BoundKernel log_sum_exp;  // one element of each row
  BoundKernel running_sum;

  // NormalizeRowsSpec. Addresses: rows, weight, bias (as they are there), result, mean, reciprocal deviation (as they are there).
  BoundKernel layer_norm;
  // The same without bias; its one statistic is the reciprocal root of the mean square.
  BoundKernel rms_norm;
  // NormalizeGroupsSpec. Addresses as for layer_norm.
  BoundKernel group_norm;

  // ScaleChannelsSpec. Addresses: elements, scale, shift, result.
  BoundKernel scale_channels;
  // FoldBatchNormSpec. Addresses: mean, variance, weight, bias (as they are there), scale, shift.
  BoundKernel fold_batch_norm;
};

}  // namespace stator
