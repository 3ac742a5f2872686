// Broadcasting contiguous tensors by two loops.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

namespace stator {

// How two contiguous inputs meet in a contiguous result: `runs` times `run` elements, with PointwiseKernels' steps.
struct TwoLoops {
  at::DimVector sizes;  // of the result
  int64_t runs = 1;
  int64_t run = 1;
  std::array<int64_t, 2> inner{};
  std::array<int64_t, 2> outer{};
};

// nullopt if the sizes do not broadcast, two loops are not enough, or there is no element.
std::optional<TwoLoops> broadcast(at::IntArrayRef a, at::IntArrayRef b);

}  // namespace stator
