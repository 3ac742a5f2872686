// Makes the plan for inputs of declared shapes before anybody runs on them.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/module.h"

namespace stator {

// One run of a runtime of its own, made with `options`, on zeros of the shapes in `signature` (as signature.h parses it; every tensor among
// the inputs with dtype and all sizes, other inputs with their value; those that are not named have their default). State is a copy of
// the file's. The module keeps the plan as any other. Throws what the run throws. Any thread.
void warm_up(const std::shared_ptr<StaticModule>& module, const StaticMethod& method, std::string_view signature,
             RuntimeOptions options);

// The same for what the method's option `signature` declares.
void warm_up_declared(const std::shared_ptr<StaticModule>& module, const StaticMethod& method, RuntimeOptions options);

}  // namespace stator
