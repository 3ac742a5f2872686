// Scaled dot product attention in float32: softmax(q kT * scale + mask) v for each batch and head. A row of scores that are all -inf
// gives zeros.
//
// Steps are in floats, of a bool mask in bytes; elements of q, k, v and the result are contiguous within a row.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

// Rows of q whose scores are made at once.
constexpr int64_t kAttentionRows = 24;

struct AttentionSpec {
  enum class Mask { kNone, kFloat, kBool };
  int64_t batches = 0, heads = 0, queries = 0, keys = 0;
  int64_t depth = 0;    // of q and k
  int64_t columns = 0;  // of v
  // From batch to batch, head to head, row to row.
  int64_t q[3], k[3], v[3], out[3];
  int64_t mask[4];  // 0 where there is one for all; the last: from key to key
  Mask mask_kind = Mask::kNone;
  bool causal = false;
  float scale = 1.0f;
  int64_t parts = 1;  // at most batches * heads
};

// Addresses: q, k, v, [mask,] result, scratch of attention_scratch() floats for each part.
struct AttentionKernels {
  int64_t panel;
  BoundKernel attend;
};

// Panels of k, and rows of scores.
inline int64_t attention_scratch(int64_t keys, int64_t depth, int64_t panel) {
  const int64_t padded = (keys + panel - 1) / panel * panel;
  return padded * depth + kAttentionRows * padded;
}

}  // namespace stator
