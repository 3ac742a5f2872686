// Pooling of float32 over one or two dimensions as bound kernels.
#include <limits>

#include "kernels/dispatch.h"
#include "plan/binding.h"
#include "plan/collapse.h"
#include "plan/rearrange.h"
#include "plan/reduction.h"
#include "plan/windows.h"

namespace stator {
namespace {

constexpr double kElementNanoseconds = 0.15;

struct Pooling {
  TensorView input;
  Windows windows;
  Run images;  // all before the pooled dimensions
  TensorMeta result;
  bool reaches_beyond = false;
};

// `ceil_mode`: one window more where some of the input is left over. It reaches beyond what is around. False if there is none.
bool round_up(Windows& windows) {
  bool more = false;
  for (int64_t d = 2 - windows.dims; d < 2; ++d) {
    const int64_t room = windows.in[d] + 2 * windows.before[d] - windows.dilation[d] * (windows.size[d] - 1) - 1;
    const int64_t next = windows.out[d] * windows.stride[d];
    if (room % windows.stride[d] == 0 || next >= windows.in[d] + windows.before[d]) continue;
    ++windows.out[d];
    more = true;
  }
  return more;
}

// (self, kernel_size, stride, padding, ...): without strides windows lie side by side.
std::optional<Pooling> pooling_of(Binding& binding, int64_t dims, const c10::IValue* dilation, bool ceil_mode) {
  const TensorView* given = binding.tensor(0);
  if (!given || given->meta.dtype != at::kFloat || given->meta.numel() == 0) return std::nullopt;
  const int64_t first = given->meta.dim() - dims;
  if (first != 1 && first != 2) return std::nullopt;
  const TensorView input = collapse(given->meta, 0, first) ? *given : contiguous_copy(binding, *given);
  Pooling out{.input = input, .windows = {.dims = dims}, .images = *collapse(input.meta, 0, first), .result = {}};
  Windows& windows = out.windows;
  set_input(windows, input.meta, first);
  const c10::IValue* stride = binding.known(2);
  if (!take_pair(binding.known(1), dims, windows.size) || !stride || !stride->isIntList()) return std::nullopt;
  if (stride->toIntList().empty()) {
    windows.stride = windows.size;
  } else if (!take_pair(stride, dims, windows.stride)) {
    return std::nullopt;
  }
  if (!take_pair(binding.known(3), dims, windows.before) || (dilation && !take_pair(dilation, dims, windows.dilation)))
    return std::nullopt;
  // More is an error of LibTorch's.
  for (int d : {0, 1}) {
    if (2 * windows.before[d] > windows.size[d]) return std::nullopt;
  }
  if (!set_positions(windows, {2 * windows.before[0], 2 * windows.before[1]})) return std::nullopt;
  out.reaches_beyond = ceil_mode && round_up(windows);
  at::DimVector sizes(input.meta.sizes.begin(), input.meta.sizes.begin() + first);
  for (int64_t d = 2 - dims; d < 2; ++d) sizes.push_back(windows.out[d]);
  out.result = TensorMeta::contiguous(at::kFloat, sizes);
  turn_single_column(windows);
  return out;
}

// Results of images at equal distances.
bool place(PoolingSpec& spec, int64_t dims, const TensorMeta& to) {
  const auto images = collapse(to, 0, to.dim() - dims);
  if (!images || !place_rows(spec, dims, to)) return false;
  spec.out_image = images->stride;
  return true;
}

// Where the input is read as it lies all the same.
void read_as_it_lies(const Windows& windows, PoolingSpec& spec) {
  const Pair one{1, 1}, size = windows.size;
  if (!spec.lays_out || windows.dilation != one || windows.stride[1] > 2 || windows.in_step[1] != 1 || size[0] < 2 ||
      size[1] < 2 || size[1] > 3)
    return;
  spec.lays_out = false;
  spec.window_rows = size[0];
  spec.window_columns = size[1];
}

bool bind_pooling(Binding& binding, const Pooling& pooling, BoundKernel kernel, float around) {
  const Windows& windows = pooling.windows;
  PoolingSpec spec;
  spec.images = pooling.images.size;
  spec.in_image = pooling.images.stride;
  spec.around = around;
  spec.count = static_cast<float>(windows.size[0] * windows.size[1]);
  describe(windows, spec);
  const at::Tensor offsets = offsets_of(windows, spec);
  read_as_it_lies(windows, spec);
  const double work = static_cast<double>(spec.images) * static_cast<double>(windows.positions() * spec.depth);
  spec.parts = std::min(spec.images, binding.parts(work * kElementNanoseconds));
  if (!place(spec, windows.dims, pooling.result)) return false;
  std::vector<TensorView> reads{pooling.input, binding.keep(offsets)};
  std::vector<TensorView> writes{binding.result(0, at::kFloat, pooling.result.sizes)};
  if (spec.lays_out) writes.push_back(binding.scratch(at::kFloat, {spec.parts * spec.group_floats}));
  binding.run_with(kernel, spec, std::move(reads), std::move(writes));
  binding.can_place<PoolingSpec>(
      [dims = windows.dims](PoolingSpec& placed, const TensorMeta& to) { return place(placed, dims, to); });
  return true;
}

// (self, kernel_size, stride, padding, dilation, ceil_mode)
template <int64_t kDims>
bool bind_max(Binding& binding) {
  const auto ceil_mode = known_bool(binding.known(5));
  if (!ceil_mode || !binding.known(4)) return false;
  const auto pooling = pooling_of(binding, kDims, binding.known(4), *ceil_mode);
  return pooling &&
         bind_pooling(binding, *pooling, kernels().pooling->largest, -std::numeric_limits<float>::infinity());
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad[, divisor_override])
template <int64_t kDims>
bool bind_mean(Binding& binding) {
  const auto ceil_mode = known_bool(binding.known(4));
  if (!ceil_mode || (kDims == 2 && !is_none(binding.known(6)))) return false;
  const auto pooling = pooling_of(binding, kDims, nullptr, *ceil_mode);
  // What is beyond does not count as part of a window.
  if (!pooling || pooling->reaches_beyond) return false;
  if (pooling->windows.has_something_before() && known_bool(binding.known(5)) != true) return false;
  return bind_pooling(binding, *pooling, kernels().pooling->mean, 0.0f);
}

// All of each image, the last dimensions: a mean.
bool bind_mean_of_images(Binding& binding, const TensorView& input, int64_t dims) {
  std::vector<bool> reduced(input.meta.dim(), false);
  std::fill(reduced.end() - dims, reduced.end(), true);
  auto mean = reduction(input.meta, reduced, true);
  if (!mean || !share(binding, mean->spec)) return false;
  binding.run_with(kernels().reductions->mean, mean->spec, {input}, {binding.result(0, at::kFloat, mean->sizes)});
  return true;
}

// (self, output_size): windows side by side, where sizes are multiples.
template <int64_t kDims>
bool bind_adaptive_mean(Binding& binding) {
  const TensorView* input = binding.tensor(0);
  if (!input || input->meta.dtype != at::kFloat || input->meta.numel() == 0 || !input->meta.is_contiguous())
    return false;
  const int64_t first = input->meta.dim() - kDims;
  if (first != 1 && first != 2) return false;
  Pooling pooling{
      .input = *input, .windows = {.dims = kDims}, .images = *collapse(input->meta, 0, first), .result = {}};
  Windows& windows = pooling.windows;
  set_input(windows, input->meta, first);
  if (!take_pair(binding.known(1), kDims, windows.out)) return false;
  at::DimVector sizes(input->meta.sizes.begin(), input->meta.sizes.begin() + first);
  for (int64_t d = 2 - kDims; d < 2; ++d) {
    if (windows.out[d] < 1 || windows.in[d] % windows.out[d] != 0) return false;
    windows.size[d] = windows.stride[d] = windows.in[d] / windows.out[d];
    sizes.push_back(windows.out[d]);
  }
  if (windows.positions() == 1) return bind_mean_of_images(binding, *input, kDims);
  pooling.result = TensorMeta::contiguous(at::kFloat, sizes);
  turn_single_column(windows);
  return bind_pooling(binding, pooling, kernels().pooling->mean, 0.0f);
}

const BinderRegistration kPoolings[] = {
    {"aten::adaptive_avg_pool1d", bind_adaptive_mean<1>},
    {"aten::adaptive_avg_pool2d", bind_adaptive_mean<2>},
    {"aten::_adaptive_avg_pool2d", bind_adaptive_mean<2>},
    {"aten::max_pool1d", bind_max<1>},
    {"aten::max_pool2d", bind_max<2>},
    {"aten::avg_pool1d", bind_mean<1>},
    {"aten::avg_pool2d", bind_mean<2>},
};

}  // namespace
}  // namespace stator
