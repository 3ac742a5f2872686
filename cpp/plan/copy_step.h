// How the elements of one tensor become those of another, as a specification for the copying kernel.
#pragma once

#include <optional>

#include "kernels/copies.h"
#include "plan/tensor_meta.h"

namespace stator {

// Both of the same sizes and dtype, not empty. nullopt: more dimensions than the kernel walks.
std::optional<CopySpec> copy_spec(const TensorMeta& from, const TensorMeta& to);

}  // namespace stator
