// A graph as text, one line a node. parse_graph() reads the same form.
//
//   graph(%x : Tensor, %n : int):
//     %2 : int = prim::Constant[value=2]()
//     %3 : Tensor = aten::add.Tensor(%x, %x, %2)  # model.py:41 "torch.add(x, x, 2)"
//     %4 : Tensor = prim::Constant[tensor=0]()  # float32[3, 4]
//     %5 : Tensor = prim::If(%c)
//       block0():
//         -> (%3)
//       block1():
//         -> (%4)
//     return (%5)
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace stator {

std::string print(const Graph& graph);

// The tensors that [tensor=0], [tensor=1], ... stand for, in the order in which print() meets them.
std::vector<at::Tensor> tensor_constants(const Graph& graph);

// As in the text: "Tensor", "List[int]", "Optional[Tuple[int, str]]".
std::string print(const c10::Type& type);

// As in [value=...], cut off after about `limit` characters (0: never). Values that the text has no form for are "<Type>".
std::string print(const c10::IValue& value, size_t limit);

}  // namespace stator
