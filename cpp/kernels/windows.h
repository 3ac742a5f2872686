// Windows of float32 that move over one or two dimensions: what convolutions and pooling have in common.
//
// A result at row y and column x has position y * row + x. Element k of its window lies `offsets[k]` behind that position in the input: so
// neighbouring results read neighbouring floats, and nothing is copied for each element of a window. Where that is not so in the input as it
// lies there, its channels are laid out anew first: with something around, and each step of the strides in a plane of its own.
//
// Steps are in floats.
#pragma once

#include <cstdint>

namespace stator {

struct WindowSpec {
  int64_t in_channels = 1;                // that lie behind one another in a window
  int64_t depth = 0;                      // elements of a window: offsets
  int64_t row = 0;                        // from a position to that in the next row
  int64_t out_rows = 1, out_columns = 1;  // columns of the result are contiguous
  int64_t out_image = 0, out_channel = 0, out_row = 0;
  int64_t in_image = 0, in_channel = 0, in_row = 0, in_column = 1;
  // Where channels are laid out anew.
  bool lays_out = false;
  float around = 0.0f;
  int64_t in_rows = 1, in_columns = 1;
  int64_t row_stride = 1, column_stride = 1;    // of windows
  int64_t rows_before = 0, columns_before = 0;  // what is around
  int64_t row_planes = 1, column_planes = 1, plane_rows = 0, plane_columns = 0;
  int64_t group_floats = 0;  // of all channels of a window, with room to read beyond the last
  int64_t parts = 1;
  bool turned =
      false;  // for those who place results or inputs: columns are the tensors' rows, of which each has one column
};

}  // namespace stator
