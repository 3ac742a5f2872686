// Tensors over the bytes of an archive, whose numbers nobody vouches for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

#include "frontend/archive.h"

namespace stator {

// With `borrow`, and where the bytes lie at a multiple of `alignment`, the bytes themselves, which keep the archive alive; else a copy of them.
c10::Storage storage_of(std::span<const char> bytes, const ArchiveBytes& archive, bool borrow, uintptr_t alignment);

// The bytes of storage that a tensor needs; nullopt if a number is negative or what they come to is too large. As many strides as sizes.
std::optional<uint64_t> bytes_needed(at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides,
                                     int64_t offset);

// `storage` has the bytes that it needs.
at::Tensor tensor_over(const c10::Storage& storage, at::ScalarType dtype, at::IntArrayRef sizes,
                       at::IntArrayRef strides, int64_t offset);

}  // namespace stator
