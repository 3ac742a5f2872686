// One direction of one layer of a recurrent network in float32: LSTM, GRU, and plain ones with tanh or ReLU.
//
// What the inputs give to the gates (x Wih^T and the biases) is there already for all steps, by a product of its own (matmul.h): "projected".
// Steps are in floats. All rows are contiguous.
#pragma once

#include <cstdint>

#include "kernels/bound_kernel.h"

namespace stator {

struct RecurrentSpec {
  int64_t steps = 0, batch = 0, hidden = 0;
  bool backward = false;                          // begins with the last step
  int64_t projected_step = 0, projected_row = 0;  // row: from a member of the batch to the next
  int64_t hidden_before_row = 0, cell_before_row = 0;
  int64_t out_step = 0, out_row = 0;
  bool has_bias = false;  // GRU's bias_hh; the others have theirs in `projected`
  bool writes_last_hidden = false;
  int64_t parts = 1;  // of each step, which wait for one another
};

// Addresses: projected, Whh as panels (matmul.h), hidden state before, [cell state before,] [bias,] out, scratch of batch x gates x hidden
// floats, [last cell state,] [last hidden state]. Cell states are LSTM's, and the bias is GRU's. Last states are contiguous.
struct RecurrentKernels {
  BoundKernel lstm;  // gates: in, forget, cell, out
  BoundKernel gru;   // gates: reset, update, new
  BoundKernel tanh;
  BoundKernel relu;
};

}  // namespace stator
