// Turns a loaded TorchScript module into a Program: inlined, unfrozen graphs. Submodules disappear: an access to an attribute of a known
// module becomes LoadState or StoreState of its slot.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include "graph/program.h"

namespace stator {

// A method with something that cannot be imported is returned with `unsupported` set; the others can run.
Program import_torchscript(const torch::jit::Module& module);

}  // namespace stator
