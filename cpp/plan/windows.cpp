#include "plan/windows.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace stator {
namespace {

// Vectors are read beyond the last position that counts.
constexpr int64_t kFloatsBehind = 64;

// Whether the elements that a window meets are neighbours for neighbouring results, as they lie.
bool lie_well(const Windows& windows) {
  if (windows.has_something_before() || windows.stride != Pair{1, 1}) return false;
  if (windows.in_step[1] != 1 && windows.in[1] != 1) return false;
  for (int d : {0, 1}) {
    if (windows.out[d] + windows.dilation[d] * (windows.size[d] - 1) > windows.in[d]) return false;
  }
  return true;
}

}  // namespace

bool take_pair(const c10::IValue* value, int64_t dims, Pair& pair) {
  if (!value || !value->isIntList()) return false;
  const auto list = value->toDimVector();
  if (list.size() != 1 && static_cast<int64_t>(list.size()) != dims) return false;
  for (int64_t d = 0; d < dims; ++d) pair[2 - dims + d] = list.size() == 1 ? list[0] : list[d];
  return true;
}

void set_input(Windows& windows, const TensorMeta& input, int64_t first) {
  for (int64_t d = 0; d < windows.dims; ++d) {
    windows.in[2 - windows.dims + d] = input.sizes[first + d];
    windows.in_step[2 - windows.dims + d] = input.strides[first + d];
  }
}

bool set_positions(Windows& windows, const Pair& around) {
  for (int64_t d = 2 - windows.dims; d < 2; ++d) {
    if (windows.stride[d] < 1 || windows.dilation[d] < 1 || windows.size[d] < 1 || windows.before[d] < 0) return false;
    const int64_t room = windows.in[d] + around[d] - windows.dilation[d] * (windows.size[d] - 1) - 1;
    if (room < 0) return false;
    windows.out[d] = room / windows.stride[d] + 1;
  }
  return true;
}

void turn_single_column(Windows& windows) {
  if (windows.dims != 2 || windows.in[1] != 1 || windows.size[1] != 1 || windows.before[1] != 0) return;
  for (Pair* pair : {&windows.in, &windows.in_step, &windows.size, &windows.stride, &windows.dilation, &windows.before,
                     &windows.out})
    std::swap((*pair)[0], (*pair)[1]);
  windows.turned = true;
}

void describe(const Windows& windows, WindowSpec& spec) {
  spec.turned = windows.turned;
  spec.depth = spec.in_channels * windows.size[0] * windows.size[1];
  spec.out_rows = windows.out[0];
  spec.out_columns = windows.out[1];
  spec.in_row = windows.in_step[0];
  spec.in_column = windows.in_step[1];
  spec.in_rows = windows.in[0];
  spec.in_columns = windows.in[1];
  spec.lays_out = !lie_well(windows);
  if (!spec.lays_out) {
    spec.row = spec.in_row;
    return;
  }
  Pair planes{1, 1}, size = windows.out;
  for (int d : {0, 1}) {
    for (int64_t k = 0; k < windows.size[d]; ++k) {
      planes[d] = std::max(planes[d], k * windows.dilation[d] % windows.stride[d] + 1);
      size[d] = std::max(size[d], windows.out[d] + k * windows.dilation[d] / windows.stride[d]);
    }
  }
  spec.row_stride = windows.stride[0];
  spec.column_stride = windows.stride[1];
  spec.rows_before = windows.before[0];
  spec.columns_before = windows.before[1];
  spec.row_planes = planes[0];
  spec.column_planes = planes[1];
  spec.plane_rows = size[0];
  spec.row = spec.plane_columns = size[1];
  spec.group_floats = spec.in_channels * planes[0] * planes[1] * size[0] * size[1] + kFloatsBehind;
}

at::Tensor offsets_of(const Windows& windows, const WindowSpec& spec) {
  at::Tensor out = at::empty({spec.depth}, at::kLong);
  auto* const offsets = out.mutable_data_ptr<int64_t>();
  const int64_t plane = spec.plane_rows * spec.plane_columns;
  const int64_t channel = spec.lays_out ? spec.row_planes * spec.column_planes * plane : spec.in_channel;
  int64_t taps = 0;
  for (int64_t ky = 0; ky < windows.size[0]; ++ky) {
    for (int64_t kx = 0; kx < windows.size[1]; ++kx) {
      const int64_t y = ky * windows.dilation[0], x = kx * windows.dilation[1];
      const int64_t before = (y % windows.stride[0] * spec.column_planes + x % windows.stride[1]) * plane;
      offsets[taps++] = before + y / windows.stride[0] * spec.row + x / windows.stride[1];
    }
  }
  for (int64_t i = taps; i < spec.depth; ++i) offsets[i] = offsets[i - taps] + channel;
  return out;
}

bool place_rows(WindowSpec& spec, int64_t dims, const TensorMeta& to) {
  if (spec.turned) {
    const int64_t rows = to.dim() - 2;
    return to.sizes[rows] == 1 || to.strides[rows] == 1;
  }
  if (to.sizes.back() != 1 && to.strides.back() != 1) return false;
  spec.out_row = dims == 2 ? to.strides[to.dim() - 2] : 0;
  return true;
}

}  // namespace stator
