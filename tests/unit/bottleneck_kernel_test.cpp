// Two convolutions at once beside LibTorch's one after the other, with each table of kernels that has such a kernel.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "draw.h"
#include "kernels/positions.h"
#include "usable_tables.h"

namespace stator {
namespace {

using test::Draw;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// [channels, depth] in blocks of so many channels side by side, with zeros where there is none.
at::Tensor in_blocks(const at::Tensor& weights, int64_t side_by_side) {
  const int64_t channels = weights.size(0), blocks = (channels + side_by_side - 1) / side_by_side;
  const at::Tensor whole = at::constant_pad_nd(weights, {0, 0, 0, blocks * side_by_side - channels});
  return whole.view({blocks, side_by_side, -1}).transpose(1, 2).contiguous();
}

struct Case {
  BottleneckSpec spec;
  at::Tensor input, weights, bias, window_weights, window_bias;
  int64_t rows_behind = 0, columns_behind = 0;

  at::Tensor expected() const {
    const ConvolutionSpec &first = spec.first, &second = spec.second;
    const at::Tensor between = at::conv2d(input.to(at::kDouble), weights.view({first.out_channels, -1, 1, 1}), bias);
    const at::Tensor padded =
        at::constant_pad_nd(first.clamps ? between.clamp(first.least, first.most) : between,
                            {second.columns_before, columns_behind, second.rows_before, rows_behind});
    const int64_t stride = spec.second.stride;
    const at::Tensor sums = at::conv2d(padded, window_weights, window_bias, {stride, stride}, at::IntArrayRef{0},
                                       at::IntArrayRef{1}, first.out_channels);
    return second.clamps ? sums.clamp(second.least, second.most) : sums;
  }
};

// An input whose rows may lie apart.
Case draw_case(Draw& draw, const BottleneckKernels& kernels) {
  Case out;
  ConvolutionSpec& first = out.spec.first;
  DepthwiseSpec& second = out.spec.second;
  const int64_t channels = kernels.lanes * draw(1, 7), depth = draw(1, 40), gap = draw(0, 3) / 3 * 5;
  second.size = 3 + 2 * draw(0, 2);
  second.stride = draw(1, 2);
  const int64_t rows = draw(second.size, 20), columns = draw(0, 3) ? draw(second.size, 15) : draw(16, 150);
  first.out_channels = second.groups = channels;
  first.in_channels = first.depth = depth;
  first.row = columns + gap;
  first.out_rows = second.in_rows = rows;
  first.out_columns = first.out_row = second.in_columns = second.in_row = columns;
  second.rows_before = draw(0, second.size - 1);
  second.columns_before = draw(0, second.size - 1);
  out.rows_behind = draw(0, second.size - 1);
  out.columns_behind = draw(0, second.size - 1);
  const auto results = [&](int64_t size, int64_t around) { return (size + around - second.size) / second.stride + 1; };
  second.out_rows = results(rows, second.rows_before + out.rows_behind);
  second.out_columns = second.out_row = results(columns, second.columns_before + out.columns_behind);
  second.out_channel = second.out_rows * second.out_columns;
  first.has_bias = draw(0, 1), second.has_bias = draw(0, 1);
  first.clamps = draw(0, 1), second.clamps = draw(0, 1);
  first.least = 0, first.most = 1, second.least = -0.5, second.most = 1.5;
  out.spec.weights_side_by_side = draw(0, 1) ? kPanelChannels : kConvolutionBlock;
  out.spec.parts = draw(1, 3);
  out.input = at::randn({1, depth, rows, columns + gap}).slice(3, 0, columns);
  out.weights = at::randn({channels, depth}, at::kDouble).to(at::kFloat).to(at::kDouble);
  out.window_weights = at::randn({channels, 1, second.size, second.size}).to(at::kDouble);
  if (first.has_bias) out.bias = at::randn({channels}).to(at::kDouble);
  if (second.has_bias) out.window_bias = at::randn({channels}).to(at::kDouble);
  set_rows(out.spec, kernels);
  return out;
}

// In scratch of no numbers, with no numbers behind the result, which must stay.
at::Tensor made(const Case& one, const BottleneckKernels& kernels) {
  const BottleneckSpec& spec = one.spec;
  const at::Tensor weights = in_blocks(one.weights.to(at::kFloat), spec.weights_side_by_side),
                   offsets = at::arange(spec.first.depth) * one.input.stride(1),
                   window_weights = one.window_weights.to(at::kFloat);
  const at::Tensor bias = one.bias.defined() ? one.bias.to(at::kFloat) : at::Tensor(),
                   window_bias = one.window_bias.defined() ? one.window_bias.to(at::kFloat) : at::Tensor();
  const int64_t results = spec.second.groups * spec.second.out_channel;
  const at::Tensor out = at::full({results + 16}, kNan), scratch = at::full({spec.parts * spec.part_floats + 16}, kNan);
  std::vector<void*> addresses{one.input.data_ptr(), weights.data_ptr(), offsets.data_ptr()};
  if (bias.defined()) addresses.push_back(bias.data_ptr());
  addresses.push_back(window_weights.data_ptr());
  if (window_bias.defined()) addresses.push_back(window_bias.data_ptr());
  addresses.insert(addresses.end(), {out.data_ptr(), scratch.data_ptr()});
  EXPECT_TRUE(kernels.convolve(&spec, addresses.data()));
  EXPECT_TRUE(out.slice(0, results).isnan().all().item<bool>());
  EXPECT_TRUE(scratch.slice(0, spec.parts * spec.part_floats).isnan().all().item<bool>());
  return out.slice(0, 0, results)
      .view({1, spec.second.groups, spec.second.out_rows, spec.second.out_columns})
      .to(at::kDouble);
}

std::vector<const KernelTable*> tables_with_kernel() {
  std::vector<const KernelTable*> tables = usable_tables();
  std::erase_if(tables, [](const KernelTable* table) { return !table->bottleneck->convolve; });
  return tables;
}

class BottleneckKernel : public testing::TestWithParam<const KernelTable*> {};
// With the capability forced down there is none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BottleneckKernel);

TEST_P(BottleneckKernel, is_libtorchs_convolutions) {
  const BottleneckKernels& kernels = *GetParam()->bottleneck;
  at::manual_seed(1);
  Draw draw(1);
  for (int i = 0; i < 300; ++i) {
    const Case one = draw_case(draw, kernels);
    const at::Tensor expected = one.expected(), result = made(one, kernels);
    ASSERT_TRUE(at::allclose(result, expected, 1e-4, 1e-4))
        << i << ": " << one.spec.first.out_channels << " channels of " << one.spec.first.out_rows << " x "
        << one.spec.first.out_columns << ", windows of " << one.spec.second.size << ", stride "
        << one.spec.second.stride;
  }
}

// What is no number stays one, through both bounds; zeros around are none.
TEST_P(BottleneckKernel, is_libtorchs_for_what_is_no_number) {
  const BottleneckKernels& kernels = *GetParam()->bottleneck;
  Draw draw(2);
  for (float number : {kNan, std::numeric_limits<float>::infinity(), 1e-40f}) {
    for (int i = 0; i < 20; ++i) {
      Case one = draw_case(draw, kernels);
      one.input.select(2, 1).select(2, 2).fill_(number);
      ASSERT_TRUE(at::allclose(made(one, kernels), one.expected(), 1e-4, 1e-4, /*equal_nan=*/true)) << number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, BottleneckKernel, testing::ValuesIn(tables_with_kernel()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
