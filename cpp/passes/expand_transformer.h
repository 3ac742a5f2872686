// The operators that torch.nn.TransformerEncoderLayer and MultiheadAttention become in eval mode, written as what they do: linear layers,
// attention, norms and additions, for which there are better kernels than the whole operator's, and which join what is around them.
//
// As aten/src/ATen/native/transformers/{transformer,attention}.cpp compute them. Proved: it is self-attention; there is no mask, or one of the
// kinds that Python's layers hand on; weights are constants of float32 or float64 and fit together, so that the operator would raise only for
// what the linear layers or the views by heads refuse as well. And no operator of the graph makes nested tensors, for which these operators
// are something else.
#pragma once

#include "graph/graph.h"

namespace stator {

bool expand_transformer(Graph& graph);

}  // namespace stator
