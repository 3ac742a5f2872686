// A convolution with constant weights followed by nothing but batch_norm in eval mode becomes one convolution.
//
// The formula is that of torch.nn.utils.fusion.fuse_conv_bn_weights (torch/nn/utils/fusion.py), computed in float64.
// Proved: the parameters are constants that nothing writes; the convolution's result is read by this batch_norm alone, besides questions
// for its shape and dtype, and stands in the same block. conv1d/2d/3d become aten::convolution, which refuses an input without batch
// dimension: there batch_norm would have normalised another dimension than the one that is folded.
#pragma once

#include "graph/graph.h"

namespace stator {

bool fold_batch_norm(Graph& graph);

}  // namespace stator
