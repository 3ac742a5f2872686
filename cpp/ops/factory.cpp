// Tensors made from sizes and values. dtype and the rest are arguments, read in each run.
#include <ATen/ops/arange_native.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/zero_native.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

// Options are four arguments from `first` on: dtype, layout, device, pin_memory. Only strided tensors on the CPU are made here.
bool usual_options(const Call& call, int first) {
  const c10::IValue &layout = call.in(first + 1), &device = call.in(first + 2), &pinned = call.in(first + 3);
  return (layout.isNone() || layout.toLayout() == at::kStrided) && (device.isNone() || device.toDevice().is_cpu()) &&
         (pinned.isNone() || !pinned.toBool());
}

std::optional<at::ScalarType> dtype_at(const Call& call, int i) { return call.in(i).toOptional<at::ScalarType>(); }

void fill(at::Tensor& out, const at::Scalar& value) {
  if (out.numel() > 0) at::native::fill_(out, value);
}

void fill_zero(at::Tensor& out) {
  // Every dtype of a plain tensor has all bits zero for zero.
  constexpr size_t kSmall = size_t{64} << 10;
  const size_t bytes = out.nbytes();
  if (bytes > kSmall) {
    at::native::zero_(out);
  } else if (bytes > 0) {
    std::memset(out.mutable_data_ptr(), 0, bytes);
  }
}

template <int kValue>
void fill_with(at::Tensor& out) {
  if constexpr (kValue == 0) fill_zero(out);
  else fill(out, kValue);
}

bool is_quantized(std::optional<at::ScalarType> dtype) { return dtype && c10::isQIntType(*dtype); }

// zeros(size, options), ones(size, options)
template <int kValue>
void sized(const Call& call) {
  const auto dtype = dtype_at(call, 1);
  if (!usual_options(call, 1) || is_quantized(dtype)) return run_boxed(call);
  fill_with<kValue>(
      call.output(0, call.in(0).toDimVector(), {}, dtype.value_or(at::get_default_dtype_as_scalartype())));
}

// full(size, value, options)
void full(const Call& call) {
  const at::Scalar value = call.in(1).toScalar();
  auto dtype = dtype_at(call, 2);
  if (!usual_options(call, 2) || is_quantized(dtype) || value.isComplex()) return run_boxed(call);
  if (!dtype) {
    dtype = value.isBoolean() ? at::kBool : value.isIntegral(false) ? at::kLong : at::get_default_dtype_as_scalartype();
  }
  fill(call.output(0, call.in(0).toDimVector(), {}, *dtype), value);
}

// new_zeros(self, size, options), new_ones
template <int kValue>
void new_sized(const Call& call) {
  const auto dtype = dtype_at(call, 2);
  if (!is_plain(call.in(0)) || !usual_options(call, 2) || is_quantized(dtype)) return run_boxed(call);
  fill_with<kValue>(call.output(0, call.in(1).toDimVector(), {}, dtype.value_or(call.tensor(0).scalar_type())));
}

void new_full(const Call& call) {
  const auto dtype = dtype_at(call, 3);
  if (!is_plain(call.in(0)) || !usual_options(call, 3) || is_quantized(dtype)) return run_boxed(call);
  fill(call.output(0, call.in(1).toDimVector(), {}, dtype.value_or(call.tensor(0).scalar_type())),
       call.in(2).toScalar());
}

// A tensor like argument 0; options from `first` on, then the memory format. NULL: not for us.
at::Tensor* like(const Call& call, int first) {
  const auto dtype = dtype_at(call, first);
  if (!is_plain(call.in(0)) || !usual_options(call, first) || is_quantized(dtype)) return nullptr;
  const at::Tensor& self = call.tensor(0);
  const auto format = call.in(first + 4).toOptional<at::MemoryFormat>().value_or(at::MemoryFormat::Preserve);
  const at::DimVector strides =
      format == at::MemoryFormat::Preserve ? dense_strides(self) : strides_for(self.sizes(), format);
  return &call.output(0, self.sizes(), strides, dtype.value_or(self.scalar_type()));
}

template <int kValue>
void filled_like(const Call& call) {
  at::Tensor* out = like(call, 1);
  if (!out) return run_boxed(call);
  fill_with<kValue>(*out);
}

void full_like(const Call& call) {
  at::Tensor* out = like(call, 2);
  if (!out) return run_boxed(call);
  fill(*out, call.in(1).toScalar());
}

void empty_like(const Call& call) {
  if (!like(call, 1)) run_boxed(call);
}

// empty(size, options, memory_format)
void empty(const Call& call) {
  const auto dtype = dtype_at(call, 1);
  const auto format = call.in(5).toOptional<at::MemoryFormat>().value_or(at::MemoryFormat::Contiguous);
  if (!usual_options(call, 1) || is_quantized(dtype) || format != at::MemoryFormat::Contiguous) return run_boxed(call);
  call.output(0, call.in(0).toDimVector(), {}, dtype.value_or(at::get_default_dtype_as_scalartype()));
}

// How many elements arange has, by its own arithmetic; nullopt for what it refuses.
std::optional<int64_t> arange_length(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                                     at::ScalarType dtype) {
  if (start.isComplex() || end.isComplex() || step.isComplex()) return std::nullopt;
  double length = 0;
  if (dtype == at::kLong) {
    if (!start.isIntegral(true) || !end.isIntegral(true) || !step.isIntegral(true)) return std::nullopt;
    const int64_t by = step.toLong();
    if (by == 0) return std::nullopt;
    const int64_t sign = by > 0 ? 1 : -1;
    // Whole steps, as integer division gives them.
    length = static_cast<double>((end.toLong() - start.toLong() + by - sign) / by);
  } else {
    if (step.toDouble() == 0.0) return std::nullopt;
    length = std::ceil((end.toDouble() - start.toDouble()) / step.toDouble());
  }
  if (!(length >= 0) || length > static_cast<double>(int64_t{1} << 52)) return std::nullopt;
  return static_cast<int64_t>(length);
}

// The options are the four arguments after the numbers.
void arange_by(const Call& call, const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, int options) {
  if (!usual_options(call, options)) return run_boxed(call);
  const bool whole = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  const at::ScalarType dtype =
      dtype_at(call, options).value_or(whole ? at::kLong : at::get_default_dtype_as_scalartype());
  const auto length = arange_length(start, end, step, dtype);
  if (!length) return run_boxed(call);
  at::native::arange_out(start, end, step, call.output(0, {*length}, {}, dtype));
}

void arange(const Call& call) { arange_by(call, 0, call.in(0).toScalar(), 1, 1); }
void arange_start(const Call& call) { arange_by(call, call.in(0).toScalar(), call.in(1).toScalar(), 1, 2); }
void arange_step(const Call& call) {
  arange_by(call, call.in(0).toScalar(), call.in(1).toScalar(), call.in(2).toScalar(), 3);
}

void number_to_tensor(const Call& call) {
  if (call.in(0).isComplexDouble()) return run_boxed(call);
  const at::Scalar value = call.in(0).toScalar();
  fill(call.output(0, {}, {}, value.type()), value);
}

void zero_in_place(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  at::native::zero_(call.mutable_in(0).toTensor());
  call.out() = call.in(0);
}

void fill_in_place(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  at::native::fill_(call.mutable_in(0).toTensor(), call.in(1).toScalar());
  call.out() = call.in(0);
}

const Registration kFactories[] = {
    {ImplKind::kOut, "aten::arange", arange},
    {ImplKind::kOut, "aten::arange.start", arange_start},
    {ImplKind::kOut, "aten::arange.start_step", arange_step},
    {ImplKind::kOut, "aten::empty.memory_format", empty},
    {ImplKind::kOut, "aten::empty_like", empty_like},
    {ImplKind::kOut, "aten::full", full},
    {ImplKind::kOut, "aten::full_like", full_like},
    {ImplKind::kOut, "aten::new_full", new_full},
    {ImplKind::kOut, "aten::new_ones", new_sized<1>},
    {ImplKind::kOut, "aten::new_zeros", new_sized<0>},
    {ImplKind::kOut, "aten::ones", sized<1>},
    {ImplKind::kOut, "aten::ones_like", filled_like<1>},
    {ImplKind::kOut, "aten::zeros", sized<0>},
    {ImplKind::kOut, "aten::zeros_like", filled_like<0>},
    {ImplKind::kOut, "prim::NumToTensor.Scalar", number_to_tensor},
    {ImplKind::kNative, "aten::fill_.Scalar", fill_in_place},
    {ImplKind::kNative, "aten::zero_", zero_in_place},
};

}  // namespace
}  // namespace stator
