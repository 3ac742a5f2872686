// Tensors as they cross the boundary: flat arguments, and DLPack both ways.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/dlpack.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/arena.h"
#include "stator/stator.h"

namespace stator::capi {

at::ScalarType scalar_type(
    int32_t dtype);  // Error(kInvalidArgument) for a number that is no dtype, kUnsupported for one LibTorch lacks
int32_t dtype_of(const at::Tensor& tensor);

// Where a tensor is, as a caller describes it. Throws Error(kInvalidArgument, kUnsupported).
struct TensorArguments {
  const void* data;
  int32_t dtype;
  int32_t device;
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides;
};

// A tensor over the caller's memory; `release` runs when its last use has ended.
at::Tensor borrow_tensor(const TensorArguments& arguments, std::function<void()> release = {});

// A tensor of its own with the same elements and strides.
at::Tensor copy_tensor(const at::Tensor& tensor);

void check_shape(int32_t dtype, int32_t ndim, const int64_t* shape);

// A tensor over a DLPack tensor's memory. Its last use calls the deleter if `*owned` has become true by then: a call that fails later
// leaves the DLPack tensor to the caller.
at::Tensor borrow_dlpack(DLManagedTensorVersioned* managed, std::shared_ptr<bool> owned, bool* read_only);
at::Tensor borrow_dlpack(DLManagedTensor* managed, std::shared_ptr<bool> owned);

// A tensor of its own over the same memory, that keeps the lease.
at::Tensor tie(const at::Tensor& tensor, Lease lease);

// Exports that keep the lease, and are counted. The memory of the tensor must be the lease's or the tensor's own.
DLManagedTensorVersioned* to_dlpack(const at::Tensor& tensor, Lease lease, bool read_only);
DLManagedTensor* to_dlpack_legacy(const at::Tensor& tensor, Lease lease);

// Fills the out parameters that are not NULL.
void read_tensor(const at::Tensor& tensor, const void** data, int32_t* dtype, int32_t* device, int32_t* ndim,
                 const int64_t** shape, const int64_t** strides);

}  // namespace stator::capi
