// Images and sequences made wider or narrower, beside LibTorch's, in each table that this CPU can run.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "both_plans.h"
#include "bound_operators.h"

namespace stator {
namespace {

using Sizes = std::vector<int64_t>;
using Factors = std::vector<double>;

class ResampleKernel : public testing::TestWithParam<const KernelTable*> {};

TEST_P(ResampleKernel, takes_the_nearest_elements_as_libtorch_does) {
  for (const char* exact : {"", "_exact"}) {
    const auto name = [&](const char* rest) {
      return std::string("aten::") + (*exact ? "_" : "") + "upsample_nearest" + exact + rest;
    };
    for (int64_t width : {1, 2, 3, 7, 16, 17, 40, 100}) {
      at::Tensor image = at::randn({2, 3, 5, width});
      image.select(3, width / 2).fill_(std::numeric_limits<float>::infinity());
      for (int64_t to : {1, 3, 8, 21, 50, 123}) {
        const auto expect = [&](const char* rest, std::vector<c10::IValue> arguments) {
          expect_bound(*GetParam(), name(rest).c_str(), std::move(arguments));
        };
        expect("2d", {image, Sizes{9, to}, kNone, kNone});
        expect("2d", {image.slice(2, 1, 4), Sizes{to, 6}, kNone, kNone});
        expect("1d", {image.select(2, 1).contiguous(), Sizes{to}, kNone});
      }
      for (double factor : {0.4, 1.0, 1.7, 2.0, 3.0, 3.3}) {
        if (static_cast<int64_t>(static_cast<double>(width) * factor) == 0) continue;
        expect_bound(*GetParam(), name("2d.vec").c_str(), {image, kNone, Factors{factor + 0.3, factor}});
        expect_bound(*GetParam(), name("1d.vec").c_str(), {image.select(0, 1), kNone, Factors{factor}});
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ResampleKernel, blends_two_elements_of_each_dimension_as_libtorch_does) {
  for (bool align_corners : {false, true}) {
    for (int64_t width : {1, 2, 3, 7, 16, 17, 40, 100}) {
      const at::Tensor image = at::randn({2, 3, 5, width});
      for (int64_t to : {1, 3, 8, 21, 50, 123}) {
        expect_bound(*GetParam(), "aten::upsample_bilinear2d", {image, Sizes{9, to}, align_corners, kNone, kNone});
        expect_bound(*GetParam(), "aten::upsample_bilinear2d",
                     {image.slice(2, 1, 4), Sizes{to, 6}, align_corners, kNone, kNone});
        expect_bound(*GetParam(), "aten::upsample_linear1d",
                     {image.select(2, 1).contiguous(), Sizes{to}, align_corners, kNone});
      }
      for (double factor : {0.4, 1.0, 1.7, 2.0, 3.3}) {
        if (static_cast<int64_t>(static_cast<double>(width) * factor) == 0) continue;
        expect_bound(*GetParam(), "aten::upsample_bilinear2d.vec",
                     {image, kNone, align_corners, Factors{factor + 0.3, factor}});
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ResampleKernel, keeps_what_is_no_number_where_libtorch_does) {
  at::Tensor image = at::randn({1, 2, 6, 6});
  image.select(3, 5).fill_(std::numeric_limits<float>::infinity());
  image.select(2, 0).fill_(std::nanf(""));
  for (const Sizes& to : {Sizes{12, 12}, Sizes{4, 9}})
    expect_bound(*GetParam(), "aten::upsample_bilinear2d", {image, to, false, kNone, kNone});
}

INSTANTIATE_TEST_SUITE_P(Capabilities, ResampleKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

TEST(ResampleBinder, leaves_the_rest_to_libtorch) {
  const auto bound = [](const at::Tensor& image, Sizes to) {
    return BoundOperator("aten::upsample_bilinear2d", {image, to, false, kNone, kNone}).bound();
  };
  EXPECT_TRUE(bound(at::randn({1, 2, 4, 4}), {8, 8}));
  EXPECT_FALSE(bound(at::randn({1, 2, 4, 4}).to(at::kDouble), {8, 8}));
  EXPECT_FALSE(bound(at::randn({1, 4, 4, 2}).permute({0, 3, 1, 2}), {8, 8}));  // channels side by side
  EXPECT_FALSE(bound(at::randn({1, 1, 600, 4}), {8, 8}));                      // weights take more than they bring
}

// Its result goes where the concatenation wants it.
TEST(ResampleBinder, is_bound_in_whole_plans) {
  test::Both both(R"(graph(%x : Tensor, %skip : Tensor):
    %none : NoneType = prim::Constant[value=None]()
    %no : bool = prim::Constant[value=False]()
    %one : int = prim::Constant[value=1]()
    %height : int = prim::Constant[value=9]()
    %width : int = prim::Constant[value=14]()
    %size : int[] = prim::ListConstruct(%height, %width)
    %wide : Tensor = aten::upsample_bilinear2d(%x, %size, %no, %none, %none)
    %also : Tensor = aten::upsample_nearest2d(%x, %size, %none, %none)
    %list : Tensor[] = prim::ListConstruct(%wide, %skip, %also)
    %y : Tensor = aten::cat(%list, %one)
    %z : Tensor = aten::neg(%y)
    return (%z))");
  EXPECT_EQ(both.run_often({at::randn({1, 3, 5, 7}), at::randn({1, 2, 9, 14})}), 4);
}

}  // namespace
}  // namespace stator
