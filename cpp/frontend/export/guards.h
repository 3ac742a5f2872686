// The conditions that archives state as Python expressions: (L['x'].size()[0] % 2) == 0.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/input_contract.h"

namespace stator::exported {

// What a place among the inputs is: an int's or size's name or number. `path` is as in L['x'][0]: x, 0, `dimension` -1 for the value.
using ResolveInput =
    std::function<std::optional<SizeExpression>(const std::vector<c10::IValue>& path, int64_t dimension)>;

// nullopt if the guard says more than comparisons of sums, products and quotients joined by "and".
std::optional<std::vector<SizeCondition>> parse_guard(std::string_view text, const ResolveInput& resolve);

}  // namespace stator::exported
