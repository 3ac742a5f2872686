// Convolutions of float32 over one or two dimensions, with constant weights, as bound kernels: the kernel for what lies channel by channel, a
// product of matrices for a single position.
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"
#include "plan/panels.h"
#include "plan/parts.h"
#include "plan/windows.h"

namespace stator {
namespace {

// Up to here this kernel is faster than oneDNN's on one thread: 2 to 16 times up to 2^18, 1.1 to 1.6 at 2^22, 0.8 to 1.2 beyond 2^24.
constexpr int64_t kMostMultiplications = int64_t{1} << 24;
constexpr int64_t kMostWeights = int64_t{1} << 22;

struct Convolution : Windows {
  TensorView input, weight;
  std::optional<TensorView> bias;
  const at::Tensor* weights = nullptr;
  int64_t groups = 1;
  int64_t images = 1, in_channels = 0, out_channels = 0;  // of all groups
  int64_t in_image = 0, in_channel = 0;
  TensorMeta result;

  int64_t channels() const { return in_channels / groups; }
  int64_t depth() const { return channels() * size[0] * size[1]; }
  double multiplications() const { return static_cast<double>(images) * out_channels * positions() * depth(); }
};

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
  if (!weight->meta.is_contiguous() || (bias && !bias->meta.is_contiguous())) return false;
  if (bias && bias->meta.numel() != weight->meta.sizes[0]) return false;
  conv.weights = binding.constant(*weight);
  conv.input = *input;
  conv.weight = *weight;
  if (bias) conv.bias = *bias;
  return conv.weights && (weight->meta.numel() <= kMostWeights || binding.beats_any_size());
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

// `groups`: which argument says how many.
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
  if (conv.multiplications() > kMostMultiplications && !binding.beats_any_size()) return std::nullopt;
  return conv;
}

// Channel by channel ------------------------------------------------------------------------------------------------------

TensorView blocks_of(Binding& binding, const at::Tensor& weights, int64_t groups, int64_t depth) {
  const int64_t channels = weights.size(0) / groups, blocks = (channels + kConvolutionBlock - 1) / kConvolutionBlock;
  const int64_t sizes[] = {groups, blocks, depth, kConvolutionBlock};
  const std::string form =
      "blocks of " + std::to_string(kConvolutionBlock) + " channels in " + std::to_string(groups) + " groups";
  return binding.packed(weights, form, TensorMeta::contiguous(at::kFloat, sizes), [&] {
    const at::Tensor wide = weights.to(at::kFloat);
    at::Tensor out = at::zeros(sizes, at::kFloat);
    auto* to = out.mutable_data_ptr<float>();
    const auto* from = wide.const_data_ptr<float>();
    for (int64_t i = 0; i < groups * channels; ++i) {
      const int64_t group = i / channels, channel = i % channels;
      float* block = to + (group * blocks + channel / kConvolutionBlock) * depth * kConvolutionBlock;
      for (int64_t k = 0; k < depth; ++k) block[k * kConvolutionBlock + channel % kConvolutionBlock] = *from++;
    }
    return out;
  });
}

bool place(ConvolutionSpec& spec, int64_t dims, const TensorMeta& to) {
  const int64_t first = to.dim() - dims;
  spec.out_image = first == 2 ? to.strides[0] : 0;
  spec.out_channel = to.strides[first - 1];
  return place_rows(spec, dims, to);
}

class ConvolutionVariants final : public KernelVariants {
 public:
  explicit ConvolutionVariants(int64_t dims) : dims_(dims) {}

  std::shared_ptr<const void> placed(const void* specification, size_t write, const TensorMeta& to) const override {
    auto spec = std::make_shared<ConvolutionSpec>(*static_cast<const ConvolutionSpec*>(specification));
    return write == 0 && place(*spec, dims_, to) ? spec : nullptr;
  }
  std::shared_ptr<const void> with_relu(const void* specification) const override {
    auto spec = std::make_shared<ConvolutionSpec>(*static_cast<const ConvolutionSpec*>(specification));
    spec->relu = true;
    return spec;
  }

 private:
  int64_t dims_;
};

bool bind_channels(Binding& binding, const Convolution& conv) {
  ConvolutionSpec spec;
  spec.images = conv.images;
  spec.groups = conv.groups;
  spec.in_channels = conv.channels();
  spec.out_channels = conv.out_channels / conv.groups;
  spec.in_image = conv.in_image;
  spec.in_channel = conv.in_channel;
  spec.has_bias = conv.bias.has_value();
  describe(conv, spec);
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds);
  place(spec, conv.dims, conv.result);

  std::vector<TensorView> reads{conv.input, blocks_of(binding, *conv.weights, spec.groups, spec.depth),
                                binding.keep(offsets_of(conv, spec))};
  if (conv.bias) reads.push_back(*conv.bias);
  std::vector<TensorView> writes{binding.result(0, at::kFloat, conv.result.sizes)};
  if (spec.lays_out) {
    const bool each = spec.images * spec.groups >= spec.parts;
    writes.push_back(binding.scratch(at::kFloat, {(each ? spec.parts : 1) * spec.group_floats}));
  }
  binding.run_with(kernels().convolution->convolve, spec, std::move(reads), std::move(writes));
  binding.can_also(std::make_shared<const ConvolutionVariants>(conv.dims));
  return true;
}

// As a product of matrices ------------------------------------------------------------------------------------------------

// The kernel is as large as the image, whose elements lie at equal distances.
bool bind_position(Binding& binding, const Convolution& conv) {
  const TensorMeta& meta = conv.input.meta;
  const auto elements = collapse(meta, meta.dim() - conv.dims - 1, meta.dim());
  if (!elements || conv.positions() != 1 || conv.size != conv.in || conv.has_something_before() || conv.groups != 1)
    return false;
  MatmulSpec spec;
  spec.rows = conv.images;
  spec.columns = conv.out_channels;
  spec.depth = conv.depth();
  spec.a_row = conv.in_image;
  spec.a_step = elements->stride;
  spec.b_column = spec.depth;
  spec.b_step = 1;
  spec.c_row = conv.out_channels;
  spec.has_bias = conv.bias.has_value();
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds);
  const Panels panels = packed_panels(binding, *conv.weights, spec);
  std::vector<TensorView> reads{conv.input, panels.view};
  if (conv.bias) reads.push_back(*conv.bias);
  binding.run_with(panels.product, spec, std::move(reads), {binding.result(0, at::kFloat, conv.result.sizes)});
  return true;
}

template <size_t kGroups>
bool bind_convolution(Binding& binding) {
  const auto conv = convolution_of(binding, kGroups);
  return conv && (bind_position(binding, *conv) || bind_channels(binding, *conv));
}

// (..., transposed, output_padding, groups)
bool bind_general(Binding& binding) { return known_bool(binding.known(6)) == false && bind_convolution<8>(binding); }

const BinderRegistration kBinders[] = {
    {"aten::conv1d", bind_convolution<6>},         {"aten::conv2d", bind_convolution<6>},
    {"aten::conv1d.padding", bind_convolution<6>}, {"aten::conv2d.padding", bind_convolution<6>},
    {"aten::convolution", bind_general},           {"aten::_convolution", bind_general},
};

}  // namespace
}  // namespace stator
