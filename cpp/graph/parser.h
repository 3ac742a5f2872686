// Reads the text that print() writes. For tests, and for looking at one pass at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string_view>

#include "graph/graph.h"

namespace stator {

// `constants` are what [tensor=0], [tensor=1], ... stand for. Classes, enums and other types that the text only names are not read.
// Comments may stand anywhere. Throws Error(kInvalidArgument) with the line; does not verify the graph.
std::unique_ptr<Graph> parse_graph(std::string_view text, std::span<const at::Tensor> constants = {});

// One type: "List[int]", "int[]", "Tensor?".
c10::TypePtr parse_type(std::string_view text);

}  // namespace stator
