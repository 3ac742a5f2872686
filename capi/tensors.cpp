#include "tensors.h"

#include <ATen/DLConvertor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <cstring>

#include "front/services.h"
#include "graph/error.h"
#include "guard.h"
#include "handles.h"

namespace stator::capi {
namespace {

constexpr int kMostDimensions = 64;

DLDataType as_dlpack(int32_t dtype) {
  return {static_cast<uint8_t>(dtype & 0xff), static_cast<uint8_t>((dtype >> 8) & 0xff), 1};
}

// The bytes that a tensor spans must be countable, or LibTorch's own arithmetic would overflow.
void check_extent(const TensorArguments& a, size_t item_size) {
  int64_t elements = 1;
  int64_t reach = 1;
  bool overflow = false;
  for (int32_t d = 0; d < a.ndim; ++d) {
    if (a.shape[d] < 0) {
      throw Error(ErrorCode::kInvalidArgument, "dimension " + std::to_string(d) + " has size " +
                                                   std::to_string(a.shape[d]) + "; sizes are 0 or more");
    }
    overflow |= __builtin_mul_overflow(elements, std::max<int64_t>(a.shape[d], 1), &elements);
    if (a.strides && a.shape[d] > 0) {
      if (a.strides[d] < 0) {
        throw Error(ErrorCode::kUnsupported, "dimension " + std::to_string(d) + " has stride " +
                                                 std::to_string(a.strides[d]) +
                                                 "; LibTorch has no negative strides, copy the tensor first");
      }
      int64_t extent = 0;
      overflow |= __builtin_mul_overflow(a.shape[d] - 1, a.strides[d], &extent);
      overflow |= __builtin_add_overflow(reach, extent, &reach);
    }
  }
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(std::max(elements, reach), static_cast<int64_t>(item_size), &bytes);
  if (overflow)
    throw Error(ErrorCode::kInvalidArgument, "the tensor's sizes are too large: its bytes do not fit 63 bits");
}

void check_device(int32_t device) {
  if ((device & 0xffff) != STATOR_CPU) {
    throw Error(ErrorCode::kUnsupported,
                "device type " + std::to_string(device & 0xffff) + " is not supported; expected STATOR_CPU (1)");
  }
}

// The same, counted as an export.
at::Tensor exported(const at::Tensor& tensor, Lease lease) {
  auto count = std::make_shared<Counted<STATOR_HANDLE_EXPORT>>();
  auto release = [tensor, lease = std::move(lease), count](void*) {};
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), std::move(release), tensor.options());
}

}  // namespace

at::ScalarType scalar_type(int32_t dtype) {
  if (!stator_core_services()->dtype_name(dtype))
    throw Error(ErrorCode::kInvalidArgument, "dtype " + std::to_string(dtype) + " is none of stator.h");
  try {
    return at::toScalarType(as_dlpack(dtype));
  } catch (const c10::Error&) {
    throw Error(ErrorCode::kUnsupported, std::string("dtype ") + stator_core_services()->dtype_name(dtype) +
                                             " is not supported by this LibTorch");
  }
}

int32_t dtype_of(const at::Tensor& tensor) {
  DLDataType type = at::getDLDataType(tensor);
  return type.code | type.bits << 8;
}

at::Tensor borrow_tensor(const TensorArguments& a, std::function<void()> release) {
  check_device(a.device);
  require(a.ndim >= 0 && a.ndim <= kMostDimensions, "ndim", "must be 0 to 64");
  require(a.ndim == 0 || a.shape, "shape", "is NULL");
  at::ScalarType dtype = scalar_type(a.dtype);
  check_extent(a, at::elementSize(dtype));
  at::IntArrayRef shape(a.shape, static_cast<size_t>(a.ndim));
  bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  require(a.data || empty, "data", "is NULL, but the tensor has elements");
  auto options = at::TensorOptions().dtype(dtype);
  void* data = const_cast<void*>(a.data);
  c10::InferenceMode inference;
  auto deleter = [release = std::move(release)](void*) {
    if (release) release();
  };
  if (!a.strides) return at::from_blob(data, shape, std::move(deleter), options);
  return at::from_blob(data, shape, at::IntArrayRef(a.strides, static_cast<size_t>(a.ndim)), std::move(deleter),
                       options);
}

namespace {

template <class Managed>
at::Tensor borrow_managed(Managed* managed, std::shared_ptr<bool> owned) {
  const DLTensor& t = managed->dl_tensor;
  if (t.dtype.lanes != 1)
    throw Error(ErrorCode::kUnsupported,
                "vector element types (lanes " + std::to_string(t.dtype.lanes) + ") are not supported");
  // Pinned memory is the CPU's too.
  bool host =
      t.device.device_type == kDLCPU || t.device.device_type == kDLCUDAHost || t.device.device_type == kDLROCMHost;
  const auto* data = t.data ? static_cast<const char*>(t.data) + t.byte_offset : nullptr;
  return borrow_tensor({data, t.dtype.code | t.dtype.bits << 8,
                        host ? STATOR_CPU : static_cast<int32_t>(t.device.device_type), t.ndim, t.shape, t.strides},
                       [managed, owned = std::move(owned)] {
                         if (*owned && managed->deleter) managed->deleter(managed);
                       });
}

}  // namespace

at::Tensor copy_tensor(const at::Tensor& tensor) {
  c10::InferenceMode inference;
  at::Tensor copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  if (at::has_internal_overlap(tensor) == at::MemOverlap::No) {
    copy.copy_(tensor);
  } else if (tensor.numel() > 0) {
    // Elements share memory, so they cannot be written one by one: all that the tensor spans is copied.
    std::memcpy(copy.mutable_data_ptr(), tensor.const_data_ptr(), copy.storage().nbytes());
  }
  return copy;
}

void check_shape(int32_t dtype, int32_t ndim, const int64_t* shape) {
  require(ndim >= 0 && ndim <= kMostDimensions, "ndim", "must be 0 to 64");
  require(ndim == 0 || shape, "shape", "is NULL");
  check_extent({nullptr, dtype, STATOR_CPU, ndim, shape, nullptr}, at::elementSize(scalar_type(dtype)));
}

at::Tensor tie(const at::Tensor& tensor, Lease lease) {
  if (!tensor.defined()) return tensor;
  c10::InferenceMode inference;
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor, lease = std::move(lease)](void*) {},
      tensor.options());
}

at::Tensor borrow_dlpack(DLManagedTensorVersioned* managed, std::shared_ptr<bool> owned, bool* read_only) {
  if (managed->version.major != DLPACK_MAJOR_VERSION) {
    throw Error(ErrorCode::kUnsupported, "DLPack version " + std::to_string(managed->version.major) +
                                             " is not supported; expected " + std::to_string(DLPACK_MAJOR_VERSION));
  }
  *read_only = managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  return borrow_managed(managed, std::move(owned));
}

at::Tensor borrow_dlpack(DLManagedTensor* managed, std::shared_ptr<bool> owned) {
  return borrow_managed(managed, std::move(owned));
}

DLManagedTensorVersioned* to_dlpack(const at::Tensor& tensor, Lease lease, bool read_only) {
  c10::InferenceMode inference;
  DLManagedTensorVersioned* managed = at::toDLPackVersioned(exported(tensor, std::move(lease)));
  if (read_only) managed->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  return managed;
}

DLManagedTensor* to_dlpack_legacy(const at::Tensor& tensor, Lease lease) {
  c10::InferenceMode inference;
  return at::toDLPack(exported(tensor, std::move(lease)));
}

void read_tensor(const at::Tensor& tensor, const void** data, int32_t* dtype, int32_t* device, int32_t* ndim,
                 const int64_t** shape, const int64_t** strides) {
  if (data) *data = tensor.numel() == 0 ? nullptr : tensor.const_data_ptr();
  if (dtype) *dtype = dtype_of(tensor);
  if (device) *device = STATOR_CPU;
  if (ndim) *ndim = static_cast<int32_t>(tensor.dim());
  if (shape) *shape = tensor.sizes().data();
  if (strides) *strides = tensor.strides().data();
}

}  // namespace stator::capi
