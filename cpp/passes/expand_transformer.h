// The operators that torch.nn.TransformerEncoderLayer and MultiheadAttention become in eval mode, written as what they do: linear layers,
// attention, norms and additions, for which there are better kernels than the whole operator's, and which join what is around them.
//
// As aten/src/ATen/native/transformers/{transformer,attention}.cpp compute them. Proved: self-attention without a mask, weights that are
// constants of float32 or float64 and fit together, so that the operator would raise only for an input that the linear layers refuse as well
// or whose sizes do not fit the view by heads; no operator of the graph makes nested tensors, for which these operators are something else.
#pragma once

#include "graph/graph.h"

namespace stator {

bool expand_transformer(Graph& graph);

}  // namespace stator
