// Copying between plain tensors without the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/copy_native.h>

#include <cstring>

namespace stator {

// Both plain. `from` broadcasts to `out`'s shape and is converted to its dtype.
inline void copy_into(at::Tensor& out, const at::Tensor& from) {
  if (out.scalar_type() == from.scalar_type() && out.sizes() == from.sizes() && out.strides() == from.strides() &&
      out.is_non_overlapping_and_dense()) {
    // Large copies are threaded by ATen.
    constexpr size_t kSmall = size_t{64} << 10;
    if (const size_t bytes = out.nbytes(); bytes <= kSmall) {
      if (bytes > 0) std::memcpy(out.mutable_data_ptr(), from.const_data_ptr(), bytes);
      return;
    }
  }
  at::native::copy_(out, from, /*non_blocking=*/false);
}

}  // namespace stator
