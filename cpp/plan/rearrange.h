// What binders of operators share that only put elements elsewhere: copies between views. A view that is read may have steps below zero.
#pragma once

#include <optional>
#include <utility>

#include "plan/binding.h"

namespace stator {

// A result in the making: the operator's own, as it was seen. nullopt: it is empty, or no tile holds its elements.
std::optional<TensorView> result_like_observed(Binding& binding);

// The elements of a view, dimension by dimension.
class Walk {
 public:
  explicit Walk(TensorView view) : view_(std::move(view)) {
    view_.meta.sizes.clear();
    view_.meta.strides.clear();
  }
  Walk& dim(int64_t size, int64_t stride) {
    view_.meta.sizes.push_back(size);
    view_.meta.strides.push_back(stride);
    return *this;
  }
  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
};

// False if sizes or dtypes differ.
bool copy(Binding& binding, const TensorView& from, const TensorView& to);

// The same elements in scratch, contiguous.
TensorView contiguous_copy(Binding& binding, const TensorView& view);

// `size` elements of a dimension from `begin` on.
TensorView part(TensorView view, int64_t dim, int64_t begin, int64_t size);
// The same, last one first.
TensorView turned(TensorView view, int64_t dim);

// The result's elements along the dimensions [first, last) are `times` neighbours for each of self's.
bool spread(Binding& binding, const TensorView& self, int64_t first, int64_t last, int64_t times);

}  // namespace stator
