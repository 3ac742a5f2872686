// Plans of a module that go into a planned file, and come out of it.
#pragma once

#include <memory>

#include "graph/saved_plans.h"
#include "runtime/module.h"

namespace stator {

// Those that the module has now, in all its methods.
SavedPlans saved_plans(const StaticModule& module, Maker here);

// Gives a module loaded from a planned file the plans that lie in it. Those that do not fit this library and machine are made anew, by a run
// on zeros each, and the log says so; those for which that fails, or that the module's options leave no use for, are left out.
void restore_plans(const std::shared_ptr<StaticModule>& module, const Maker& here);

}  // namespace stator
