// Pooling against LibTorch's, in each table that this CPU can run.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "bound_operators.h"

namespace stator {
namespace {

using Sizes = std::vector<int64_t>;

class PoolingKernel : public testing::TestWithParam<const KernelTable*> {};

// Numbers with equal ones among them, and what is none.
at::Tensor awkward(const Sizes& sizes) {
  at::Tensor out = at::randint(-3, 4, sizes).to(at::kFloat) * at::where(at::rand(sizes) > 0.5, 1.0, -1.0);
  out.masked_fill_(at::rand(sizes) > 0.97, std::nanf(""));
  return out.masked_fill_(at::rand(sizes) > 0.95, -std::numeric_limits<float>::infinity());
}

TEST_P(PoolingKernel, is_libtorchs_over_two_dimensions) {
  std::mt19937 engine(3);
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  for (int i = 0; i < 150; ++i) {
    const Sizes sizes{draw(1, 3), draw(1, 4), draw(7, 20), draw(7, 45)}, window{draw(1, 3), draw(1, 3)};
    const Sizes stride = i % 4 ? Sizes{draw(1, 3), draw(1, 3)} : Sizes{},
                padding{draw(0, window[0] / 2), draw(0, window[1] / 2)};
    const at::Tensor input = i % 3 ? awkward(sizes) : awkward(sizes).slice(3, 1).slice(2, 1);
    expect_bound(*GetParam(), "aten::max_pool2d",
                 {input, window, stride, padding, Sizes{draw(1, 2), draw(1, 2)}, i % 2 == 0});
    expect_bound(*GetParam(), "aten::avg_pool2d",
                 {at::randn(sizes), window, stride, padding, false, true, c10::IValue()});
    if (HasFatalFailure()) return;
  }
}

TEST_P(PoolingKernel, is_libtorchs_over_one_dimension) {
  for (int64_t length : {8, 9, 31, 100}) {
    for (int64_t window : {1, 2, 3, 5}) {
      for (int64_t stride : {1, 2, 4}) {
        const Sizes one{1}, before{window / 2};
        expect_bound(*GetParam(), "aten::max_pool1d",
                     {awkward({2, 3, length}), Sizes{window}, Sizes{stride}, before, one, false});
        expect_bound(*GetParam(), "aten::max_pool1d",
                     {awkward({2, 3, length}), Sizes{window}, Sizes{stride}, before, one, true});
        expect_bound(*GetParam(), "aten::avg_pool1d",
                     {at::randn({3, length}), Sizes{window}, Sizes{stride}, before, false, true});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PoolingKernel, is_libtorchs_over_a_single_column) {
  std::mt19937 engine(4);
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  for (int i = 0; i < 60; ++i) {
    const Sizes sizes{draw(1, 3), draw(1, 4), draw(7, 70), 1}, window{draw(1, 3), 1}, stride{draw(1, 3), draw(1, 2)},
        padding{draw(0, window[0] / 2), 0};
    const at::Tensor other = at::stack({awkward(sizes), awkward(sizes)}, 3).select(3, 1);
    expect_bound(*GetParam(), "aten::max_pool2d",
                 {i % 3 ? awkward(sizes) : other, window, stride, padding, Sizes{draw(1, 2), 1}, i % 2 == 0});
    expect_bound(*GetParam(), "aten::avg_pool2d",
                 {at::randn(sizes), window, stride, padding, false, true, c10::IValue()});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, PoolingKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

TEST(PoolingBinder, leaves_the_rest_to_libtorch) {
  const auto binds = [](std::vector<c10::IValue> arguments) {
    return BoundOperator("aten::max_pool1d", std::move(arguments)).bound();
  };
  const Sizes one{1}, two{2}, none{0};
  EXPECT_TRUE(binds({at::randn({2, 3, 8}), two, two, none, one, false}));
  EXPECT_TRUE(binds({at::randn({2, 3, 9}), two, two, none, one, true}));
  EXPECT_FALSE(binds({at::randn({2, 3, 8}), two, two, two, one, false}));
  EXPECT_FALSE(binds({at::randn({2, 3, 1}), two, two, none, one, false}));
  EXPECT_FALSE(binds({at::randn({2, 3, 8}, at::kDouble), two, two, none, one, false}));
  const auto means = [](int64_t length) {
    return BoundOperator("aten::avg_pool1d", {at::randn({2, 3, length}), Sizes{2}, Sizes{2}, Sizes{0}, true, true})
        .bound();
  };
  EXPECT_TRUE(means(8));
  EXPECT_FALSE(means(9)) << "the last of one element only";
  const c10::IValue no_divisor;
  EXPECT_FALSE(
      BoundOperator("aten::avg_pool2d", {at::randn({1, 4, 4}), two, two, one, false, false, no_divisor}).bound());
}

}  // namespace
}  // namespace stator
