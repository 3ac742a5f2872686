// Convolutions of float32 over one or two dimensions, with constant weights, as bound kernels: each channel alone, by Winograd's way, with
// vectors of positions or of channels, or as a product of matrices for a single position.
#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/dispatch.h"
#include "plan/collapse.h"
#include "plan/convolution_call.h"
#include "plan/packed_weights.h"
#include "plan/panels.h"
#include "plan/parts.h"
#include "plan/transposed_convolution.h"

namespace stator {
namespace {

int64_t quotient_up(int64_t count, int64_t by) { return (count + by - 1) / by; }
int64_t blocks_for(int64_t channels) { return quotient_up(channels, kConvolutionBlock); }

void describe_groups(const Convolution& conv, ConvolutionSpec& spec) {
  spec.images = conv.images;
  spec.groups = conv.groups;
  spec.in_channels = conv.channels();
  spec.out_channels = conv.out_channels / conv.groups;
  spec.in_image = conv.in_image;
  spec.in_channel = conv.in_channel;
  spec.has_bias = conv.bias.has_value();
}

bool place(ConvolutionSpec& spec, int64_t dims, const TensorMeta& to) {
  const int64_t first = to.dim() - dims;
  spec.out_image = first == 2 ? to.strides[0] : 0;
  spec.out_channel = to.strides[first - 1];
  if (!place_rows(spec, dims, to)) return false;
  return !spec.packs || spec.out_rows == 1 || spec.out_row == spec.out_columns;
}

// Reads `inside` with zeros around it. False if the kernel reads its input as it lies, without any.
bool surround(ConvolutionSpec& spec, int64_t dims, const TensorMeta& inside, at::IntArrayRef before) {
  const int64_t first = inside.dim() - dims;
  if (!spec.lays_out || std::any_of(before.begin(), before.begin() + first, [](int64_t zeros) { return zeros != 0; }))
    return false;
  spec.in_image = first == 2 ? inside.strides[0] : 0;
  spec.in_channel = inside.strides[first - 1];
  if (spec.turned && (inside.sizes.back() != 1 || before.back() != 0)) return false;
  const int64_t columns = spec.turned ? first : inside.dim() - 1;
  spec.in_column = inside.strides[columns];
  spec.in_columns = inside.sizes[columns];
  spec.columns_before += before[columns];
  if (dims == 1 || spec.turned) return true;
  spec.in_row = inside.strides[first];
  spec.in_rows = inside.sizes[first];
  spec.rows_before += before[first];
  return true;
}

bool surround(DepthwiseSpec& spec, int64_t dims, const TensorMeta& inside, at::IntArrayRef before) {
  if (inside.strides.back() != 1 && inside.sizes.back() != 1) return false;
  spec.lays_out = true;
  const bool can = surround(static_cast<ConvolutionSpec&>(spec), dims, inside, before);
  spec.lays_out = false;
  return can;
}

std::optional<KernelSlice> slice_of(const ConvolutionSpec& spec, int64_t count) {
  const int64_t channels = spec.out_channels / count;
  if (spec.images != 1 || spec.groups != 1 || channels % kConvolutionBlock != 0 ||
      channels * count != spec.out_channels)
    return std::nullopt;
  auto slice = std::make_shared<ConvolutionSpec>(spec);
  slice->out_channels = channels;
  slice->packs = false;  // which would be done for each of them
  slice->lays_out = false;
  slice->parts = 1;
  KernelSlice out{
      slice, {0, channels * spec.depth * kFloatBytes, 0}, channels * spec.out_channel * kFloatBytes, spec.parts};
  if (spec.has_bias) out.read_steps.push_back(channels * kFloatBytes);
  if (spec.has_addend) out.read_steps.push_back(out.write_step);
  if (spec.lays_out) {
    const auto whole = std::make_shared<ConvolutionSpec>(spec);
    out.preparation = {kernels().convolution->lay_out, whole, spec.group_floats * kFloatBytes};
  }
  return out;
}

std::optional<KernelSlice> slice_of(const DepthwiseSpec& spec, int64_t count) {
  const int64_t channels = spec.groups / count;
  if (spec.images != 1 || channels * count != spec.groups) return std::nullopt;
  auto slice = std::make_shared<DepthwiseSpec>(spec);
  slice->groups = channels;
  slice->parts = 1;
  const int64_t window = spec.size * spec.size;
  KernelSlice out{slice,
                  {channels * spec.in_channel * kFloatBytes, channels * window * kFloatBytes},
                  channels * spec.out_channel * kFloatBytes,
                  spec.parts};
  if (spec.has_bias) out.read_steps.push_back(channels * kFloatBytes);
  return out;
}

template <class Spec>
class ConvolutionVariants final : public KernelVariants {
 public:
  explicit ConvolutionVariants(int64_t dims) : dims_(dims) {}

  std::shared_ptr<const void> placed(const void* specification, size_t write, const TensorMeta& to) const override {
    auto spec = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    return write == 0 && !spec->has_addend && place(*spec, dims_, to) ? spec : nullptr;
  }
  std::shared_ptr<const void> clamped(const void* specification, float least, float most) const override {
    auto spec = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    if (spec->clamps) return nullptr;
    spec->clamps = true;
    spec->least = least;
    spec->most = most;
    return spec;
  }
  std::shared_ptr<const void> added(const void* specification, const TensorMeta& addend) const override {
    if constexpr (std::is_same_v<Spec, DepthwiseSpec>) return nullptr;
    auto spec = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    if (spec->has_addend || spec->clamps || !lies_as_result(*spec, addend)) return nullptr;
    spec->has_addend = true;
    return spec;
  }
  std::shared_ptr<const void> around_zeros(const void* specification, const TensorMeta& inside,
                                           at::IntArrayRef before) const override {
    auto spec = std::make_shared<Spec>(*static_cast<const Spec*>(specification));
    return surround(*spec, dims_, inside, before) ? spec : nullptr;
  }
  std::optional<KernelSlice> slice(const void* specification, int64_t count) const override {
    if constexpr (std::is_same_v<Spec, ConvolutionSpec> || std::is_same_v<Spec, DepthwiseSpec>)
      return slice_of(*static_cast<const Spec*>(specification), count);
    return std::nullopt;
  }

 private:
  bool lies_as_result(const Spec& spec, const TensorMeta& tensor) const {
    Spec there = spec;
    return place(there, dims_, tensor) && there.out_image == spec.out_image && there.out_channel == spec.out_channel &&
           there.out_row == spec.out_row;
  }

  int64_t dims_;
};

// Groups and images have layouts of their own where each part takes some, else parts share one.
TensorView layout_for(Binding& binding, const ConvolutionSpec& spec) {
  const bool each = spec.images * spec.groups >= spec.parts;
  return binding.scratch(at::kFloat, {(each ? spec.parts : 1) * spec.group_floats});
}

// `reads`: what the kernel reads but for the bias, which comes last. `scratch`: floats of its own, behind a layout.
template <class Spec>
void run(Binding& binding, const Convolution& conv, BoundKernel kernel, const Spec& spec, std::vector<TensorView> reads,
         int64_t scratch = 0) {
  if (conv.bias) reads.push_back(*conv.bias);
  std::vector<TensorView> writes{binding.result(0, at::kFloat, conv.result.sizes)};
  if (spec.lays_out) writes.push_back(layout_for(binding, spec));
  if (scratch > 0) writes.push_back(binding.scratch(at::kFloat, {scratch}));
  binding.run_with(kernel, spec, std::move(reads), std::move(writes));
  if (binding.takes_variants()) binding.can_also(std::make_shared<const ConvolutionVariants<Spec>>(conv.dims));
}

// Each channel alone -------------------------------------------------------------------------------------------------------

bool bind_depthwise(Binding& binding, const Convolution& conv) {
  const Pair one{1, 1};
  if (conv.dims != 2 || conv.channels() != 1 || conv.out_channels != conv.groups || conv.dilation != one ||
      conv.size[0] != conv.size[1] || conv.stride[0] != conv.stride[1] ||
      !has_depthwise_kernel(conv.size[0], conv.stride[0]) || (conv.in_step[1] != 1 && conv.in[1] != 1) ||
      conv.weights->scalar_type() != at::kFloat || !conv.weight.meta.is_contiguous())
    return false;
  DepthwiseSpec spec;
  describe_groups(conv, spec);
  describe(conv, spec);
  spec.lays_out = false;
  spec.size = conv.size[0];
  spec.stride = conv.stride[0];
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds);
  place(spec, conv.dims, conv.result);
  run(binding, conv, kernels().depthwise->convolve, spec, {conv.input, conv.weight});
  return true;
}

// Which way is best ------------------------------------------------------------------------------------------------------

int64_t vector_width() { return kernels().matmul->panel / 2; }
int64_t in_vectors(int64_t count) { return quotient_up(count, vector_width()) * vector_width(); }

// From so many output channels on, elements are better put side by side once than read where they are for each block of channels.
bool suits_panels(const Convolution& conv) {
  constexpr int64_t kFewestToPackFor = 64, kFewestPositions = 8;
  return conv.out_channels / conv.groups >= kFewestToPackFor && conv.positions() >= kFewestPositions;
}

// What positions take in vectors, where a last one may be computed on its own (simd/position_alone.h): of points, and beside some vectors, or elements
// take too long to be put side by side.
int64_t in_vectors_or_alone(const Convolution& conv) {
  const int64_t positions = conv.positions(), width = vector_width();
  const bool alone = suits_panels(conv) && conv.size == Pair{1, 1} && width == kConvolutionBlock &&
                     positions > 2 * width && positions % width == 1;
  return alone ? positions : in_vectors(positions);
}

// About what one thread takes to multiply each of so many weights by so many elements. Weights that do not stay in the second level cache come
// at 2.5 a nanosecond.
double nanoseconds(int64_t weights, int64_t elements) {
  constexpr int64_t kStay = 256 * 1024;
  const double each = static_cast<double>(elements) / (5.0 * static_cast<double>(vector_width()));
  return static_cast<double>(weights) * (weights > kStay ? std::max(each, 0.4) : each);
}

// Results must be worth turning, and positions enough of a row to keep the processor busy. Then that is best where vectors of positions would
// be filled badly, or elements are no neighbours.
bool suits_positions(const Convolution& conv) {
  constexpr int64_t kLeastDepth = 128, kFewestNeighbours = 4;
  if (conv.depth() < kLeastDepth || conv.out_channels / conv.groups < kPanelChannels) return false;
  const bool points = conv.size == Pair{1, 1}, strided = conv.stride != Pair{1, 1};
  const bool one_row = conv.out[0] == 1 || conv.out[1] == 1 || (points && !strided && !conv.has_something_before());
  if ((one_row ? conv.positions() : conv.out[1]) < kFewestNeighbours) return false;
  return 5 * in_vectors_or_alone(conv) >= 6 * conv.positions() || (strided && !points);
}

// By Winograd's way -------------------------------------------------------------------------------------------------------

// G g G^T.
void transform_weights(const float* given, float* to, int64_t step) {
  const double half = 0.5;
  double columns[4][3];
  for (int i = 0; i < 3; ++i) {
    const double a = given[i], b = given[3 + i], c = given[6 + i];
    columns[0][i] = a;
    columns[1][i] = half * (a + b + c);
    columns[2][i] = half * (a - b + c);
    columns[3][i] = c;
  }
  for (const auto& [a, b, c] : columns) {
    for (double element : {a, half * (a + b + c), half * (a - b + c), c}) {
      *to = static_cast<float>(element);
      to += step;
    }
  }
}

TensorView transformed(Binding& binding, const at::Tensor& weights, const WinogradSpec& spec) {
  const int64_t blocks = blocks_for(spec.out_channels), matrix = blocks * spec.in_channels * kConvolutionBlock;
  const int64_t sizes[] = {spec.groups, kPatch, blocks, spec.in_channels, kConvolutionBlock};
  const std::string form = "patches of 2 by 2 results, blocks of " + std::to_string(kConvolutionBlock) +
                           " channels in " + std::to_string(spec.groups) + " groups";
  return binding.packed(weights, form, TensorMeta::contiguous(at::kFloat, sizes), [&](at::Tensor& out) {
    const at::Tensor plain = weights.contiguous();
    out.zero_();
    auto* to = out.mutable_data_ptr<float>();
    const auto* from = plain.const_data_ptr<float>();
    for (int64_t i = 0; i < spec.groups * spec.out_channels; ++i) {
      const int64_t group = i / spec.out_channels, channel = i % spec.out_channels;
      const int64_t block = channel / kConvolutionBlock * spec.in_channels * kConvolutionBlock;
      float* column = to + group * kPatch * matrix + block + channel % kConvolutionBlock;
      for (int64_t c = 0; c < spec.in_channels; ++c, from += 9)
        transform_weights(from, column + c * kConvolutionBlock, matrix);
    }
  });
}

// Products of each pair of an input and an output channel must outweigh the transformations of each channel, which take twice as long where
// most vectors are of patches from two rows. How much was measured with vectors of 8 and 16.
bool outweigh_transformations(int64_t in_channels, int64_t out_channels, int64_t rows, int64_t columns) {
  const int64_t vectors = quotient_up(rows * columns, vector_width()), borders = rows - 1;
  const bool mixed = vector_width() > 8 && columns % vector_width() != 0 && 5 * borders > 3 * vectors;
  return in_channels * out_channels >= (mixed ? 21 : 12) * (in_channels + out_channels);
}

bool suits_winograd(const Convolution& conv) {
  const Pair three{3, 3}, one{1, 1};
  if (conv.dims != 2 || conv.size != three || conv.stride != one || conv.dilation != one ||
      conv.weights->scalar_type() != at::kFloat)
    return false;
  const int64_t out_channels = conv.out_channels / conv.groups, pairs = conv.channels() * out_channels;
  const int64_t rows = quotient_up(conv.out[0], 2), columns = quotient_up(conv.out[1], 2), patches = rows * columns;
  const double directly =
      nanoseconds(9 * pairs, suits_positions(conv) ? conv.positions() : in_vectors(conv.positions()));
  return outweigh_transformations(conv.channels(), out_channels, rows, columns) &&
         4 * nanoseconds(16 * pairs, in_vectors(patches)) <= 3 * directly;
}

// Weights as they are, one channel after the other.
TensorView plain(Binding& binding, const Convolution& conv) {
  if (conv.weight.meta.is_contiguous()) return conv.weight;
  return binding.packed(*conv.weights, "contiguous", TensorMeta::contiguous(at::kFloat, conv.weights->sizes()),
                        [&](at::Tensor& out) { out.copy_(*conv.weights); });
}

bool bind_winograd(Binding& binding, const Convolution& conv) {
  if (!suits_winograd(conv)) return false;
  Windows patches = conv;
  patches.size = {4, 4};
  patches.stride = {2, 2};
  patches.out = {(conv.out[0] + 1) / 2, (conv.out[1] + 1) / 2};
  WinogradSpec spec;
  describe_groups(conv, spec);
  describe(patches, spec);
  spec.rows = conv.out[0];
  spec.columns = conv.out[1];
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds / 2);
  place(spec, conv.dims, conv.result);
  spec.matrices_floats = winograd_floats(spec, kernels().winograd->patches);
  run(binding, conv, kernels().winograd->convolve, spec,
      {conv.input, transformed(binding, *conv.weights, spec), plain(binding, conv),
       binding.keep(offsets_of(patches, spec))},
      spec.parts * spec.matrices_floats);
  return true;
}

// Channel by channel ------------------------------------------------------------------------------------------------------

// So many channels of a group side by side.
TensorView blocks_of(Binding& binding, const at::Tensor& weights, const ConvolutionSpec& spec, int64_t side_by_side) {
  const int64_t channels = spec.out_channels, blocks = quotient_up(channels, side_by_side), depth = spec.depth;
  const int64_t sizes[] = {spec.groups, blocks, depth, side_by_side};
  std::string form = "blocks of ";
  form += std::to_string(side_by_side) + " channels in " + std::to_string(spec.groups) + " groups";
  return binding.packed(weights, form, TensorMeta::contiguous(at::kFloat, sizes), [&](at::Tensor& out) {
    const at::Tensor wide = weights.to(at::kFloat).contiguous();
    out.zero_();
    auto* to = out.mutable_data_ptr<float>();
    const auto* from = wide.const_data_ptr<float>();
    for (int64_t i = 0; i < spec.groups * channels; ++i) {
      const int64_t group = i / channels, channel = i % channels;
      float* block = to + (group * blocks + channel / side_by_side) * depth * side_by_side;
      for (int64_t k = 0; k < depth; ++k) block[k * side_by_side + channel % side_by_side] = *from++;
    }
  });
}

bool bind_channels(Binding& binding, const Convolution& conv) {
  ConvolutionSpec spec;
  describe_groups(conv, spec);
  describe(conv, spec);
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds);
  spec.packs = suits_panels(conv);
  place(spec, conv.dims, conv.result);
  run(binding, conv, kernels().convolution->convolve, spec,
      {conv.input, blocks_of(binding, *conv.weights, spec, kConvolutionBlock), binding.keep(offsets_of(conv, spec))},
      spec.packs ? spec.parts * kPanelFloats : 0);
  return true;
}

// Position by position ----------------------------------------------------------------------------------------------------

bool bind_positions(Binding& binding, const Convolution& conv) {
  if (!suits_positions(conv)) return false;
  Windows by_one = conv;
  by_one.stride = {1, 1};
  for (int d : {0, 1}) by_one.out[d] = (conv.out[d] - 1) * conv.stride[d] + 1;
  PositionsSpec spec;
  describe_groups(conv, spec);
  describe(by_one, spec);
  spec.out_rows = conv.out[0];
  spec.out_columns = conv.out[1];
  spec.row_leap = conv.stride[0] * spec.row;
  spec.column_leap = conv.stride[1];
  spec.parts = binding.parts(conv.multiplications() * kMultiplicationNanoseconds);
  set_blocks(spec);
  place(spec, conv.dims, conv.result);
  run(binding, conv, kernels().positions->convolve, spec,
      {conv.input, blocks_of(binding, *conv.weights, spec, kPanelChannels), binding.keep(offsets_of(by_one, spec))},
      positions_floats(spec));
  return true;
}

// As a product of matrices ------------------------------------------------------------------------------------------------

// The kernel is as large as the image, whose elements lie at equal distances.
bool bind_single_position(Binding& binding, const Convolution& conv) {
  const TensorMeta& meta = conv.input.meta;
  const auto elements = collapse(meta, meta.dim() - conv.dims - 1, meta.dim());
  if (!elements || !conv.weight.meta.is_contiguous() || conv.positions() != 1 || conv.size != conv.in ||
      conv.has_something_before() || conv.groups != 1)
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
  if (!conv) return false;
  return bind_single_position(binding, *conv) || bind_depthwise(binding, *conv) || bind_winograd(binding, *conv) ||
         bind_positions(binding, *conv) || bind_channels(binding, *conv);
}

// (input, weight, bias, stride, padding, dilation, transposed, output padding, groups)
bool bind_general(Binding& binding) {
  const auto transposed = known_bool(binding.known(6));
  if (!transposed) return false;
  return *transposed ? bind_transposed_convolution(binding, {.groups = 8, .dilation = 5, .output_padding = 7})
                     : bind_convolution<8>(binding);
}

const BinderRegistration kConvolutions[] = {
    {"aten::conv1d", bind_convolution<6>},         {"aten::conv2d", bind_convolution<6>},
    {"aten::conv1d.padding", bind_convolution<6>}, {"aten::conv2d.padding", bind_convolution<6>},
    {"aten::convolution", bind_general},           {"aten::_convolution", bind_general},
};

}  // namespace
}  // namespace stator
