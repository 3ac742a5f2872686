// NAME.data, as formats.py writes it: inputs of a model and what eager PyTorch gives for them.
#pragma once

#include <string>
#include <vector>

#include "bench/peer.h"

namespace stator::bench {

// formats.py's WARM_CALL: `warm` is what a call gives after this many others.
constexpr int kWarmCall = 20;

// What eager PyTorch gives, and how far each of its tensors is, at most, from the same network's in double precision.
struct Expected {
  std::vector<at::Tensor> tensors;
  std::vector<double> rounding;
};

struct ModelData {
  struct Sample {
    Inputs inputs;
    Expected outputs;
  };
  Inputs inputs;
  Expected cold;
  Expected warm;
  std::vector<Sample> others;  // of other shapes
};

ModelData read_model_data(const std::string& path);

// The largest |got - wanted| in units of what is allowed, so that 1 passes: what torch.testing.assert_close allows for the dtype, and as
// much as eager itself is off. Infinite if the number of tensors, a shape or a dtype differs.
double largest_error(const std::vector<at::Tensor>& got, const Expected& wanted);

}  // namespace stator::bench
