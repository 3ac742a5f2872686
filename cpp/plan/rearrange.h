// What binders of operators share that only put elements elsewhere: copies between views. A view that is read may have steps below zero.
#pragma once

#include <optional>

#include "plan/binding.h"

namespace stator {

// A result in the making: the operator's own, as it was seen. nullopt: it is empty, or no tile holds its elements.
std::optional<TensorView> result_like_observed(Binding& binding);

// False if sizes or dtypes differ.
bool copy(Binding& binding, const TensorView& from, const TensorView& to);

// `size` elements of a dimension from `begin` on.
TensorView part(TensorView view, int64_t dim, int64_t begin, int64_t size);
// The same, last one first.
TensorView turned(TensorView view, int64_t dim);

}  // namespace stator
