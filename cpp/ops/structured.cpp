#include "ops/structured.h"

#include <ATen/ScalarOps.h>

namespace stator {

WrappedNumber::WrappedNumber(const c10::IValue& value) : value(at::native::wrapped_scalar_tensor(value.toScalar())) {}

at::DimVector strides_for(at::IntArrayRef sizes, at::MemoryFormat format) {
  switch (format) {
    case at::MemoryFormat::ChannelsLast:
      return at::DimVector(c10::get_channels_last_strides_2d(sizes));
    case at::MemoryFormat::ChannelsLast3d:
      return at::DimVector(c10::get_channels_last_strides_3d(sizes));
    default:
      return c10::contiguous_strides(sizes);
  }
}

}  // namespace stator
