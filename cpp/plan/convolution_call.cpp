#include "plan/convolution_call.h"

#include "plan/collapse.h"

namespace stator {
namespace {

constexpr int64_t kMostConvolutionWeights = int64_t{1} << 24;

// Zeros before and behind together.
bool take_padding(const c10::IValue* value, Convolution& conv, Pair& zeros) {
  if (value && value->isString()) {
    if (value->toStringRef() != "same" && value->toStringRef() != "valid") return false;
    for (int d = 0; d < 2 && value->toStringRef() == "same"; ++d) {
      zeros[d] = conv.dilation[d] * (conv.size[d] - 1);
      conv.before[d] = zeros[d] / 2;
    }
    return true;
  }
  if (!take_pair(value, conv.dims, conv.before)) return false;
  zeros = {2 * conv.before[0], 2 * conv.before[1]};
  return true;
}

bool take_tensors(const Binding& binding, Convolution& conv) {
  const TensorView *input = binding.tensor(0), *weight = binding.tensor(1), *bias = binding.tensor(2);
  if (!input || !weight || (!bias && !is_none(binding.known(2)))) return false;
  for (const TensorView* view : {input, weight, bias}) {
    if (view && (view->meta.dtype != at::kFloat || view->meta.numel() == 0)) return false;
  }
  conv.dims = weight->meta.dim() - 2;
  const int64_t rank = input->meta.dim();
  if ((conv.dims != 1 && conv.dims != 2) || (rank != conv.dims + 2 && rank != conv.dims + 1)) return false;
  if (bias && !bias->meta.is_contiguous()) return false;
  if (bias && bias->meta.numel() != weight->meta.sizes[0]) return false;
  conv.weights = binding.constant(*weight);
  conv.input = *input;
  conv.weight = *weight;
  if (bias) conv.bias = *bias;
  return conv.weights && (weight->meta.numel() <= kMostConvolutionWeights || binding.beats_any_size());
}

void set_shapes(Convolution& conv) {
  const TensorMeta &meta = conv.input.meta, &weight = conv.weight.meta;
  const int64_t first = meta.dim() - conv.dims;  // of the dimensions that are convolved
  if (first == 2) {
    conv.images = meta.sizes[0];
    conv.in_image = meta.strides[0];
  }
  conv.in_channels = meta.sizes[first - 1];
  conv.in_channel = meta.strides[first - 1];
  conv.out_channels = weight.sizes[0];
  set_input(conv, meta, first);
  for (int64_t d = 0; d < conv.dims; ++d) conv.size[2 - conv.dims + d] = weight.sizes[2 + d];
}

TensorMeta result_of(const Convolution& conv) {
  at::DimVector sizes;
  if (conv.input.meta.dim() == conv.dims + 2) sizes.push_back(conv.images);
  sizes.push_back(conv.out_channels);
  for (int64_t d = 2 - conv.dims; d < 2; ++d) sizes.push_back(conv.out[d]);
  return TensorMeta::contiguous(at::kFloat, sizes);
}

}  // namespace

std::optional<Convolution> convolution_of(const Binding& binding, size_t groups) {
  Convolution conv;
  if (!take_tensors(binding, conv)) return std::nullopt;
  set_shapes(conv);
  const c10::IValue* count = binding.known(groups);
  if (!count || !count->isInt() || count->toInt() < 1) return std::nullopt;
  conv.groups = count->toInt();
  if (conv.in_channels % conv.groups != 0 || conv.out_channels % conv.groups != 0 ||
      conv.weight.meta.sizes[1] != conv.channels())
    return std::nullopt;
  Pair zeros{0, 0};
  if (!take_pair(binding.known(3), conv.dims, conv.stride) || !take_pair(binding.known(5), conv.dims, conv.dilation) ||
      !take_padding(binding.known(4), conv, zeros) || !set_positions(conv, zeros))
    return std::nullopt;
  conv.result = result_of(conv);
  turn_single_column(conv);
  return conv;
}

}  // namespace stator
