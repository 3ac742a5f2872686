// Modules and plans as JSON, for stator_module_describe(), stator_method_plan() and stator_build_info().
#pragma once

#include <string>

#include "runtime/module.h"

namespace stator::capi {

// "bound", "out", "native", "fallback", "control".
const char* node_kind(const PlanNode& node, bool bound = false);
std::string value_name(const Value* value);  // %name

std::string describe_module(const StaticModule& module);
std::string describe_plan(const StaticMethod& method);
std::string describe_build();

}  // namespace stator::capi
