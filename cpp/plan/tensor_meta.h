// What a tensor looks like: what guards compare and what is known when a plan is made.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/accumulate.h>
#include <c10/util/strides.h>

#include "ops/tensors.h"
#include "plan/dims.h"

namespace stator {

// dtype, sizes and strides of a plain tensor.
struct TensorMeta {
  at::ScalarType dtype = at::kFloat;
  Dims sizes;
  Dims strides;

  static TensorMeta of(const at::Tensor& tensor) {
    return {tensor.scalar_type(), Dims(tensor.sizes()), Dims(tensor.strides())};
  }
  static TensorMeta contiguous(at::ScalarType dtype, at::IntArrayRef sizes) {
    return {dtype, Dims(sizes), Dims(c10::contiguous_strides(sizes))};
  }
  bool matches(const at::Tensor& tensor) const {
    return is_plain(tensor) && tensor.scalar_type() == dtype && is_laid_out(tensor.sizes(), tensor.strides());
  }
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const { return c10::multiply_integers(sizes); }
  int64_t itemsize() const { return static_cast<int64_t>(c10::elementSize(dtype)); }
  // Strides of dimensions of size 1 do not count.
  bool is_contiguous() const;
  // From the first element to the end of the last; 0 without elements.
  int64_t bytes() const;
  bool operator==(const TensorMeta&) const = default;

 private:
  // A loop, because a call costs more than the few numbers that there are.
  bool is_laid_out(at::IntArrayRef other_sizes, at::IntArrayRef other_strides) const {
    if (other_sizes.size() != sizes.size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (other_sizes[d] != sizes[d] || other_strides[d] != strides[d]) return false;
    }
    return true;
  }
};

}  // namespace stator
