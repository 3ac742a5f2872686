// Sizes as archives write them: what sympy.srepr() prints, as in Mul(Integer(2), Symbol('s0', positive=True, integer=True)).
#pragma once

#include <optional>
#include <string_view>

#include "graph/size_expression.h"

namespace stator::exported {

// nullopt if it holds a function that sizes of inputs do not have. Throws Error(kBadModel) if it is no such text at all.
std::optional<SizeExpression> parse_symbols(std::string_view text);

}  // namespace stator::exported
