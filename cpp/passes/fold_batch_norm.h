// A convolution with constant weights followed by nothing but batch_norm in eval mode becomes one convolution.
//
// The formula is that of torch.nn.utils.fusion.fuse_conv_bn_weights (torch/nn/utils/fusion.py), computed in float64.
// Proved: the parameters are constants that nothing writes; the convolution's result is read by this batch_norm alone, besides questions
// for its shape and dtype, and stands in the same block. The input has a batch dimension: the operator insists on it, or the model
// raises otherwise, or the folded convolution is the one side of a branch on the input's rank. Without one, batch_norm normalises
// another dimension than the one that is folded; so both stay as they were on the other side.
#pragma once

#include "graph/graph.h"

namespace stator {

bool fold_batch_norm(Graph& graph);

}  // namespace stator
