// A call of a convolution, as binders see it.
#pragma once

#include <optional>

#include "plan/binding.h"
#include "plan/windows.h"

namespace stator {

// Of float32 over one or two dimensions, with constant weights.
struct Convolution : Windows {
  TensorView input, weight;
  std::optional<TensorView> bias;
  const at::Tensor* weights = nullptr;
  int64_t groups = 1;
  int64_t images = 1, in_channels = 0, out_channels = 0;  // of all groups
  int64_t in_image = 0, in_channel = 0;
  TensorMeta result;

  int64_t channels() const { return in_channels / groups; }
  int64_t depth() const { return channels() * size[0] * size[1]; }
  double multiplications() const { return static_cast<double>(images) * out_channels * positions() * depth(); }
};

// `groups`: which argument says how many. The bias is argument 2, strides are 3, padding 4, dilation 5.
std::optional<Convolution> convolution_of(const Binding& binding, size_t groups);

}  // namespace stator
