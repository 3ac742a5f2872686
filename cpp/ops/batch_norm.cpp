// Batch normalisation with the statistics of training.
#include <ATen/ops/native_batch_norm_cpu_dispatch.h>

#include "ops/registry.h"
#include "ops/structured.h"

namespace stator {
namespace {

// Tensor or None, as LibTorch's functions take it.
std::optional<at::Tensor> optional_tensor(const c10::IValue& value) { return value.toOptional<at::Tensor>(); }

// None, or one number a channel. The out form refuses parameters of another dtype, which the functional one takes.
bool fits(const c10::IValue& parameter, const at::Tensor& input) {
  if (parameter.isNone()) return true;
  const at::Tensor& tensor = parameter.toTensor();
  return is_plain(tensor) && tensor.scalar_type() == input.scalar_type() && tensor.dim() == 1 &&
         tensor.size(0) == input.size(1);
}

bool takes(const Call& call) {
  const at::Tensor& input = call.tensor(0);
  if (!is_plain(input) || input.dim() < 2 || input.numel() == 0 || !input.is_floating_point()) return false;
  const bool training = call.in(5).toBool();
  return !training && !call.in(3).isNone() && !call.in(4).isNone() && fits(call.in(1), input) &&
         fits(call.in(2), input) && fits(call.in(3), input) && fits(call.in(4), input);
}

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
void batch_norm(const Call& call) {
  if (!takes(call)) return run_boxed(call);
  const at::Tensor& input = call.tensor(0);
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

const Registration kBatchNorms[] = {
    {ImplKind::kOut, "aten::batch_norm", batch_norm},
};

}  // namespace
}  // namespace stator
