// What makes a module learn an input: the bytes that it needs, and the plan for its signature, which is made when it is seen again.
#pragma once

#include "inputs.h"

namespace cli {

// `runtime` has options of stator_runtime_create, or is NULL.
void run_twice(stator_module* module, const stator_method* method, const InputOptions& inputs,
               const stator_options* runtime);

}  // namespace cli
