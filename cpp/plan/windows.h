// Windows that move over one or two dimensions, as arguments of operators have them, and how kernels are told of them (kernels/windows.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>

#include "kernels/windows.h"
#include "plan/tensor_meta.h"

namespace stator {

// By dimension: rows, columns. One dimension alone is columns.
using Pair = std::array<int64_t, 2>;

struct Windows {
  int64_t dims = 0;
  Pair in{1, 1}, in_step{0, 1}, size{1, 1}, stride{1, 1}, dilation{1, 1};
  Pair before{0, 0};  // of what is around
  Pair out{1, 1};
  bool turned = false;  // rows and columns have changed places

  int64_t positions() const { return out[0] * out[1]; }
  bool has_something_before() const { return before[0] != 0 || before[1] != 0; }
};

// A list of one number for all dimensions, or of one each.
bool take_pair(const c10::IValue* value, int64_t dims, Pair& pair);

// The dimensions of an input from `first` on.
void set_input(Windows& windows, const TensorMeta& input, int64_t first);

// How often windows fit, with so much around before and behind together; false if they do not.
bool set_positions(Windows& windows, const Pair& around);

// An input of one column is taken as one row, where neighbours are columns. Then rows and columns change places.
void turn_single_column(Windows& windows);

// All of the input and the result but steps between channels and images. in_channels and in_channel must be set.
void describe(const Windows& windows, WindowSpec& spec);

// For a specification described so: int64.
at::Tensor offsets_of(const Windows& windows, const WindowSpec& spec);

// Where rows of the result go, of which the last `dims` dimensions are; false if columns are no neighbours.
bool place_rows(WindowSpec& spec, int64_t dims, const TensorMeta& to);

}  // namespace stator
