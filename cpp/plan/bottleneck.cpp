#include "plan/bottleneck.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/positions.h"

namespace stator {
namespace {

// Put side by side, and its positions as they lie in its input.
std::optional<BottleneckSpec> first_of(const SignatureStep& step) {
  BottleneckSpec spec;
  if (step.kernel == kernels().convolution->convolve) {
    spec.first = *static_cast<const ConvolutionSpec*>(step.specification.get());
    spec.weights_side_by_side = kConvolutionBlock;
  } else if (step.kernel == kernels().positions->convolve) {
    const auto& first = *static_cast<const PositionsSpec*>(step.specification.get());
    if (first.column_leap != 1 || first.row_leap != first.row) return std::nullopt;
    spec.first = first;
    spec.weights_side_by_side = kPanelChannels;
  } else {
    return std::nullopt;
  }
  return spec;
}

bool reads_all_of(const DepthwiseSpec& second, const ConvolutionSpec& first) {
  return second.images == 1 && second.groups == first.out_channels && second.in_rows == first.out_rows &&
         second.in_columns == first.out_columns && second.in_row == first.out_columns;
}

bool is_without_gaps(const ConvolutionSpec& spec) { return spec.out_rows == 1 || spec.out_row == spec.out_columns; }

// Vectors of sixteen are filled well enough by rows of the second one's, where these are not read at every other column. With vectors of eight there
// are fewer positions at once, and what they are summed up from must stay in the first level cache. Limits were measured.
bool pays(const BottleneckSpec& spec, int64_t lanes) {
  constexpr int64_t kNarrow = 7, kSmall = 3, kDeepest = 120;
  const DepthwiseSpec& second = spec.second;
  if (lanes == 8) return spec.first.depth <= kDeepest;
  return second.stride > 1 || second.out_columns <= kNarrow || second.size > kSmall;
}

}  // namespace

std::optional<BottleneckSpec> bottleneck_of(const SignatureStep& first, const SignatureStep& second) {
  const BottleneckKernels& kernel = *kernels().bottleneck;
  if (!kernel.convolve || second.kernel != kernels().depthwise->convolve) return std::nullopt;
  auto spec = first_of(first);
  if (!spec) return std::nullopt;
  spec->second = *static_cast<const DepthwiseSpec*>(second.specification.get());
  const ConvolutionSpec& made = spec->first;
  if (made.images != 1 || made.groups != 1 || made.has_addend || made.lays_out || made.turned ||
      !reads_all_of(spec->second, made) || second.reads[0].offset != 0 || spec->second.turned ||
      made.out_channels % kernel.lanes != 0 || !is_without_gaps(made) || !is_without_gaps(spec->second) ||
      !pays(*spec, kernel.lanes))
    return std::nullopt;
  const int64_t slices = (made.out_channels + kernel.vectors * kernel.lanes - 1) / (kernel.vectors * kernel.lanes);
  spec->parts = std::min(std::max(made.parts, spec->second.parts), slices);
  set_rows(*spec, kernel);
  return spec;
}

}  // namespace stator
