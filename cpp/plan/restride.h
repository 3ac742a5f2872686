// Strides of the same elements elsewhere, when somebody else's view of them is known in both places.
#pragma once

#include <optional>

#include "plan/tensor_meta.h"

namespace stator {

// `from` sees all elements of `tensor`, in any order and shape; those lie elsewhere with the strides `to` in place of `from`'s. The strides of
// `tensor` there; nullopt if it cannot be seen as it is.
std::optional<at::DimVector> restrided(const TensorMeta& tensor, const TensorMeta& from, at::IntArrayRef to);

// Whether two of the same sizes lie alike: strides of dimensions of size 1 lead nowhere.
bool same_strides(const TensorMeta& a, const TensorMeta& b);

// Whether elements lie without gaps and overlaps, in any order of dimensions.
bool is_dense(const TensorMeta& meta);

}  // namespace stator
