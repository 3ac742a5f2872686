#include "plan/tensor_view.h"

namespace stator {
namespace {

// Bytes from the first element to the end of the last, as far as dimensions lead whose steps are no multiples of `period`.
int64_t reach(const TensorMeta& meta, int64_t period) {
  int64_t bytes = meta.itemsize();
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    const int64_t step = meta.strides[d] * meta.itemsize();
    if (step % period != 0) bytes += (meta.sizes[d] - 1) * step;
  }
  return bytes;
}

// Whether they are in different parts of every stretch of `period` bytes, as halves of rows are.
bool are_apart_within(const TensorView& a, const TensorView& b, int64_t period) {
  const int64_t a_begin = a.offset % period, a_end = a_begin + reach(a.meta, period);
  const int64_t b_begin = b.offset % period, b_end = b_begin + reach(b.meta, period);
  return a_end <= period && b_end <= period && (a_end <= b_begin || b_end <= a_begin);
}

// The same elements with no steps below zero.
TensorView forwards(TensorView view) {
  for (size_t d = 0; d < view.meta.sizes.size(); ++d) {
    int64_t& stride = view.meta.strides[d];
    if (stride >= 0) continue;
    view.offset += (view.meta.sizes[d] - 1) * stride * view.meta.itemsize();
    stride = -stride;
  }
  return view;
}

}  // namespace

bool are_apart(const TensorView& one, const TensorView& other) {
  if (one.buffer != other.buffer || one.meta.numel() == 0 || other.meta.numel() == 0) return true;
  const TensorView a = forwards(one), b = forwards(other);
  if (a.offset + a.meta.bytes() <= b.offset || b.offset + b.meta.bytes() <= a.offset) return true;
  for (size_t d = 0; d < a.meta.sizes.size(); ++d) {
    const int64_t period = a.meta.strides[d] * a.meta.itemsize();
    if (a.meta.sizes[d] > 1 && period > 0 && are_apart_within(a, b, period)) return true;
  }
  return false;
}

}  // namespace stator
