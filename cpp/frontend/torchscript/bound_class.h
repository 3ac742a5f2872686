// Classes that are defined in C++ and registered with LibTorch (TORCH_LIBRARY's class_): by libraries of operators, or LibTorch itself.
#pragma once

#include <ATen/core/class_type.h>

#include <string>
#include <vector>

namespace stator {

// `name` is as in "__torch__.torch.classes.library.Class".
bool is_bound_class(const std::string& name);
// Throws Error(kUnsupported) if nobody has registered it.
c10::ClassTypePtr bound_class(const std::string& name);

// An object of such a class out of an archive that LibTorch's pickler wrote of it. Throws Error(kBadModel or kUnsupported) with `name` in it.
c10::IValue unpickle_object(const std::vector<char>& archive, const std::string& name);

}  // namespace stator
