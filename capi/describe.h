// Modules and plans as JSON, for stator_module_describe(), stator_method_plan() and stator_build_info().
#pragma once

#include <string>

#include "runtime/module.h"

namespace stator::capi {

std::string describe_module(const StaticModule& module);
std::string describe_plan(const StaticMethod& method);
std::string describe_build();

}  // namespace stator::capi
