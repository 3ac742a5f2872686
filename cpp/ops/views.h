// Views made without the dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace stator {

// `self` is plain, and the view lies within its storage.
inline at::Tensor make_view(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(self.storage()),
                                                             self.key_set(), self.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return view;
}

inline at::Tensor make_alias(const at::Tensor& self) {
  return make_view(self, self.sizes(), self.strides(), self.storage_offset());
}

// `sizes` has as many elements as `self`. Empty if the elements do not lie so that a view could have these sizes.
std::optional<at::Tensor> try_view(const at::Tensor& self, at::IntArrayRef sizes);

}  // namespace stator
