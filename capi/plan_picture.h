// A picture of the memory that a plan gives its tensors, as SVG.
#pragma once

#include <string>

#include "runtime/module.h"

namespace stator::capi {

// Time (the graph's nodes in a line) from left to right, offset upwards, one box a tensor; the workspace above, the outputs' arena below.
std::string plan_svg(const StaticMethod& method);

}  // namespace stator::capi
