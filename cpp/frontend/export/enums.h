// The numbers that archives give to dtypes, layouts and memory formats. They are not LibTorch's own.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace stator::exported {

// Throw Error(kBadModel) for numbers that mean nothing.
at::ScalarType dtype_of(int64_t number);
at::Layout layout_of(int64_t number);
at::MemoryFormat memory_format_of(int64_t number);

}  // namespace stator::exported
