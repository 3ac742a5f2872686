// Libraries of operators written for LibTorch (TORCH_LIBRARY).
#pragma once

#include <string>

namespace stator {

// Opens the library for the life of the process; its initializers register its operators with LibTorch.
// Throws Error(kNotFound, kIo) with the loader's message.
void load_operator_library(const std::string& path);

}  // namespace stator
