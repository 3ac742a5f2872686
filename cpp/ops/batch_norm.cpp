// Batch normalisation with the statistics of training.
#include <ATen/ops/native_batch_norm_cpu_dispatch.h>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

// Tensor or None, as LibTorch's functions take it.
std::optional<at::Tensor> optional_tensor(const c10::IValue& value) { return value.toOptional<at::Tensor>(); }

bool plain_or_none(const c10::IValue& value) { return value.isNone() || is_plain(value); }

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
void batch_norm(const Call& call) {
  const at::Tensor& input = call.tensor(0);
  bool plain = is_plain(input) && input.dim() >= 2 && input.numel() > 0 && input.is_floating_point();
  for (int i = 1; i <= 4; ++i) plain = plain && plain_or_none(call.in(i));
  plain = plain && !call.in(3).isNone() && !call.in(4).isNone();
  if (!plain || call.in(5).toBool()) return run_boxed(call);
  const int64_t channels = input.size(1);
  for (int i = 1; i <= 4; ++i) {
    const bool fits = call.in(i).isNone() || (call.tensor(i).dim() == 1 && call.tensor(i).size(0) == channels);
    if (!fits) return run_boxed(call);
  }
  const at::MemoryFormat format = input.suggest_memory_format();
  const at::DimVector strides =
      format == at::MemoryFormat::Contiguous ? at::DimVector() : strides_for(input.sizes(), format);
  at::Tensor& out = call.output(0, input.sizes(), strides, input.scalar_type());
  // Not written in this mode.
  at::Tensor mean = at::detail::empty_cpu({0}, input.scalar_type()), deviation = mean;
  at::cpu::native_batch_norm_out(out, mean, deviation, input, optional_tensor(call.in(1)), optional_tensor(call.in(2)),
                                 optional_tensor(call.in(3)), optional_tensor(call.in(4)), /*training=*/false,
                                 call.in(6).toDouble(), call.in(7).toDouble());
}

const Registration registrations[] = {
    {ImplKind::kOut, "aten::batch_norm", batch_norm},
};

}  // namespace
}  // namespace stator
