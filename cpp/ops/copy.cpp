// Operators that copy, and those that copy only where a view or the argument itself will not do. The latter place what they copy;
// otherwise their result is the argument or a view of it, as their schemas say it may be.
#include "ops/copy.h"

#include <ATen/InferSize.h>
#include <ATen/WrapDimUtils.h>

#include <optional>

#include "ops/registry.h"
#include "ops/structured.h"
#include "ops/views.h"

namespace stator {
namespace {

// A copy of `self` with the strides that the memory format asks for.
void copy_as(const Call& call, const at::Tensor& self, at::ScalarType dtype, at::MemoryFormat format) {
  const at::DimVector strides =
      format == at::MemoryFormat::Preserve ? dense_strides(self) : strides_for(self.sizes(), format);
  copy_into(call.output(0, self.sizes(), strides, dtype), self);
}

void clone(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  const auto format = call.in(1).toOptional<at::MemoryFormat>().value_or(at::MemoryFormat::Preserve);
  if (!is_plain(self)) return run_boxed(call);
  copy_as(call, self, self.scalar_type(), format);
}

void contiguous(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  const at::MemoryFormat format = call.in(1).toMemoryFormat();
  if (!is_plain(self) || format == at::MemoryFormat::Preserve) return run_boxed(call);
  if (self.is_contiguous(format)) {
    call.out() = call.in(0);
  } else {
    copy_as(call, self, self.scalar_type(), format);
  }
}

// What a conversion asks for. Positions are those of the arguments; an absent one leaves the argument as it is.
void convert(const Call& call, std::optional<at::ScalarType> dtype, bool copy, std::optional<at::MemoryFormat> format) {
  const at::Tensor& self = call.tensor(0);
  const at::ScalarType to = dtype.value_or(self.scalar_type());
  const at::MemoryFormat wanted = format.value_or(at::MemoryFormat::Preserve);
  if (c10::isQIntType(to)) return run_boxed(call);
  if (to == self.scalar_type() && !copy &&
      (wanted == at::MemoryFormat::Preserve || self.suggest_memory_format() == wanted)) {
    call.out() = call.in(0);
  } else {
    copy_as(call, self, to, wanted);
  }
}

bool is_cpu(const c10::IValue& device) { return device.isNone() || device.toDevice().is_cpu(); }

// to.dtype(self, dtype, non_blocking, copy, memory_format)
void to_dtype(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  convert(call, call.in(1).toScalarType(), call.in(3).toBool(), call.in(4).toOptional<at::MemoryFormat>());
}

// to.dtype_layout(self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format)
void to_dtype_layout(const Call& call) {
  const bool strided = call.in(2).isNone() || call.in(2).toLayout() == at::kStrided;
  const bool pinned = !call.in(4).isNone() && call.in(4).toBool();
  if (!is_plain(call.in(0)) || !strided || !is_cpu(call.in(3)) || pinned) return run_boxed(call);
  convert(call, call.in(1).toOptional<at::ScalarType>(), call.in(6).toBool(),
          call.in(7).toOptional<at::MemoryFormat>());
}

// to.device(self, device, dtype, non_blocking, copy, memory_format)
void to_device(const Call& call) {
  if (!is_plain(call.in(0)) || !is_cpu(call.in(1))) return run_boxed(call);
  convert(call, call.in(2).toScalarType(), call.in(4).toBool(), call.in(5).toOptional<at::MemoryFormat>());
}

// to.other(self, other, non_blocking, copy, memory_format)
void to_other(const Call& call) {
  if (!is_plain(call.in(0)) || !is_plain(call.in(1))) return run_boxed(call);
  convert(call, call.tensor(1).scalar_type(), call.in(3).toBool(), call.in(4).toOptional<at::MemoryFormat>());
}

// to.prim_Device(self, device, dtype=None, non_blocking, copy)
void to_device_number(const Call& call) {
  if (!is_plain(call.in(0)) || !is_cpu(call.in(1))) return run_boxed(call);
  convert(call, call.in(2).toOptional<at::ScalarType>(), call.in(4).toBool(), std::nullopt);
}

// to.prim_dtype(self, dtype=None, non_blocking, copy)
void to_dtype_number(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  convert(call, call.in(1).toOptional<at::ScalarType>(), call.in(3).toBool(), std::nullopt);
}

// The argument itself if it has the dtype, although the schema promises fresh memory (analysis/unsaid.h).
void type_as(const Call& call) {
  if (!is_plain(call.in(0)) || !is_plain(call.in(1))) return run_boxed(call);
  convert(call, call.tensor(1).scalar_type(), false, std::nullopt);
}

void reshape_to(const Call& call, const at::Tensor& self, at::IntArrayRef sizes) {
  if (auto view = try_view(self, sizes)) {
    call.out() = std::move(*view);
    return;
  }
  // Filled in the argument's shape, then given its own: both are contiguous.
  at::Tensor& out = call.output(0, self.sizes(), {}, self.scalar_type());
  copy_into(out, self);
  out.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
}

void reshape(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  reshape_to(call, self, at::infer_size_dv(call.in(1).toDimVector(), self.numel()));
}

void flatten(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  int64_t first = call.in(1).toInt(), last = call.in(2).toInt();
  const int64_t rank = self.dim();
  if (!is_plain(self) || rank == 0 || first < -rank || first >= rank || last < -rank || last >= rank)
    return run_boxed(call);
  if (first < 0) first += rank;
  if (last < 0) last += rank;
  if (first > last) return run_boxed(call);
  if (first == last) {
    call.out() = call.in(0);
    return;
  }
  at::DimVector sizes(self.sizes());
  for (int64_t d = first + 1; d <= last; ++d) sizes[first] *= sizes[d];
  sizes.erase(sizes.begin() + first + 1, sizes.begin() + last + 1);
  reshape_to(call, self, sizes);
}

void copy_in_place(const Call& call) {
  if (!is_plain(call.in(0)) || !is_plain(call.in(1))) return run_boxed(call);
  at::native::copy_(call.mutable_in(0).toTensor(), call.tensor(1), call.in(2).toBool());
  call.out() = call.in(0);
}

const Registration kCopies[] = {
    {ImplKind::kOut, "aten::clone", clone},
    {ImplKind::kOut, "aten::contiguous", contiguous},
    {ImplKind::kOut, "aten::flatten.using_ints", flatten},
    {ImplKind::kOut, "aten::reshape", reshape},
    {ImplKind::kOut, "aten::to.device", to_device},
    {ImplKind::kOut, "aten::to.dtype", to_dtype},
    {ImplKind::kOut, "aten::to.dtype_layout", to_dtype_layout},
    {ImplKind::kOut, "aten::to.other", to_other},
    {ImplKind::kOut, "aten::to.prim_Device", to_device_number},
    {ImplKind::kOut, "aten::to.prim_dtype", to_dtype_number},
    {ImplKind::kOut, "aten::type_as", type_as},
    {ImplKind::kNative, "aten::copy_", copy_in_place},
};

}  // namespace
}  // namespace stator
