// Small questions about tensors that many implementations ask.
#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>

namespace stator {

// A dense tensor on the CPU without lazy bits: what implementations are made for. Not sparse, quantized, conjugate, negative, wrapped
// by a transform, nor undefined. Keys that every tensor may have do not count: autograd's are inert in inference mode, and autocast, which
// acts on the thread that enables it, is written out in the graphs of models.
inline bool is_plain(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet inert =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;
  return tensor.key_set() - inert == c10::DispatchKeySet(c10::DispatchKey::CPU);
}

inline bool is_plain(const c10::IValue& value) { return value.isTensor() && is_plain(value.toTensor()); }

// Contiguous float32: what the short loops here take.
inline bool is_plain_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && is_plain(tensor) && tensor.is_contiguous();
}

// The strides of empty_like(tensor): its own order of dimensions, without gaps.
inline at::DimVector dense_strides(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return at::DimVector(tensor.strides());
  return at::DimVector(at::infer_dense_strides(tensor.sizes(), tensor.strides()));
}

}  // namespace stator
