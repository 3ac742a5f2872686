// Sizes as archives write them: what sympy.srepr() prints, as in Mul(Integer(2), Symbol('s0', positive=True, integer=True)), or, from torch
// 2.5, what sympy itself prints: 2*s0.
#pragma once

#include <optional>
#include <string_view>

#include "graph/size_expression.h"

namespace stator::exported {

// nullopt if it is anything but sums, products and the like of symbols and whole numbers.
std::optional<SizeExpression> parse_symbols(std::string_view text);

}  // namespace stator::exported
