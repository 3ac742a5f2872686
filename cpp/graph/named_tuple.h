// Types of named tuples.
#pragma once

#include <ATen/core/jit_type.h>

#include <optional>
#include <string>
#include <vector>

namespace stator {

// A named tuple whose fields may be of any type, lists and dicts of Any included, which LibTorch's own maker of these types refuses.
c10::TupleTypePtr named_tuple_type(const std::optional<c10::QualifiedName>& name,
                                   const std::vector<std::string>& fields, const std::vector<c10::TypePtr>& types);

}  // namespace stator
