// NAME.data, as formats.py writes it: inputs of a model and what eager PyTorch gives for them.
#pragma once

#include <string>
#include <vector>

#include "bench/peer.h"

namespace stator::bench {

// formats.py's WARM_CALL: `warm` is what a call gives after this many others.
constexpr int kWarmCall = 20;

struct ModelData {
  struct Sample {
    Inputs inputs;
    std::vector<at::Tensor> outputs;
  };
  Inputs inputs;
  std::vector<at::Tensor> cold;
  std::vector<at::Tensor> warm;
  std::vector<Sample> others;  // of other shapes
};

ModelData read_model_data(const std::string& path);

// The largest |got - wanted| in units of what torch.testing.assert_close allows for the dtype: at most 1 passes. Infinite if the
// number of tensors, a shape or a dtype differs.
double largest_error(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& wanted);

}  // namespace stator::bench
