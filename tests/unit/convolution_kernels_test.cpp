// Convolutions against LibTorch's: the kernel in each table that this CPU can run, and what binders make of them in whole plans.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "both_plans.h"
#include "bound_operators.h"
#include "draw.h"

namespace stator {
namespace {

using test::Both;
using test::Draw;

class ConvolutionKernel : public testing::TestWithParam<const KernelTable*> {};

// Elements where they would be in a larger tensor, so that no dimension but the last is dense.
at::Tensor amid(const at::Tensor& tensor) {
  return at::constant_pad_nd(tensor, {1, 2, 0, 1}).narrow(-1, 1, tensor.size(-1)).narrow(-2, 0, tensor.size(-2));
}

TEST_P(ConvolutionKernel, is_libtorchs_over_two_dimensions) {
  Draw draw(1);
  for (int i = 0; i < 150; ++i) {
    const int64_t groups = draw(0, 2) > 0 ? 1 : draw(2, 4);
    const at::Tensor weight = at::randn({groups * draw(1, 19), draw(1, 6), draw(1, 4), draw(1, 5)});
    const at::Tensor input = at::randn({draw(1, 3), groups * weight.size(1), draw(2, 20), draw(2, 40)});
    const std::vector<int64_t> stride{draw(1, 3), draw(1, 3)}, padding{draw(0, 3), draw(0, 3)},
        dilation{draw(1, 3), draw(1, 3)};
    bool fits = true;
    for (int d : {0, 1})
      fits &= input.size(2 + d) + 2 * padding[d] > dilation[d] * (weight.size(2 + d) - 1) + stride[d];
    if (!fits) continue;  // or there is one position, which is a product of matrices
    const c10::IValue bias = i % 3 ? c10::IValue(at::randn({weight.size(0)})) : c10::IValue();
    expect_bound(*GetParam(), "aten::conv2d",
                 {i % 2 ? input : amid(input), weight, bias, stride, padding, dilation, groups}, true);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ConvolutionKernel, is_libtorchs_over_a_single_column) {
  Draw draw(7);
  for (int i = 0; i < 60; ++i) {
    const int64_t groups = draw(1, 2);
    const at::Tensor weight = at::randn({groups * draw(1, 40), draw(1, 30), draw(1, 9), 1});
    const at::Tensor input = at::randn({draw(1, 3), groups * weight.size(1), draw(24, 90), 1});
    const std::vector<int64_t> stride{draw(1, 4), draw(1, 2)}, padding{draw(0, 3), 0}, dilation{draw(1, 2), 1};
    expect_bound(*GetParam(), "aten::conv2d",
                 {i % 2 ? input : amid(input), weight, at::randn({weight.size(0)}), stride, padding, dilation, groups},
                 true);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ConvolutionKernel, is_libtorchs_over_one_dimension) {
  Draw draw(2);
  for (int i = 0; i < 60; ++i) {
    const at::Tensor weight = at::randn({draw(1, 20), draw(1, 9), draw(1, 5)});
    const at::Tensor input = at::randn({draw(1, 3), weight.size(1), draw(12, 70)});
    const std::vector<int64_t> stride{draw(1, 3)}, dilation{draw(1, 2)};
    const at::Tensor bias = at::randn({weight.size(0)});
    expect_bound(*GetParam(), "aten::conv1d",
                 {input, weight, bias, stride, std::vector<int64_t>{draw(0, 3)}, dilation, int64_t{1}}, true);
    expect_bound(*GetParam(), "aten::conv1d.padding",
                 {input[0], weight, bias, std::vector<int64_t>{1}, i % 2 ? "same" : "valid", dilation, int64_t{1}},
                 true);
    if (HasFatalFailure()) return;
  }
}

// Sums over more elements than a panel has, and few and many results.
TEST_P(ConvolutionKernel, is_libtorchs_by_panels) {
  Draw draw(3);
  for (int i = 0; i < 40; ++i) {
    const int64_t groups = i % 4 ? 1 : 2, size = draw(1, 4);
    const at::Tensor weight = at::randn({groups * draw(64, 90), draw(1, 70), size, size});
    const at::Tensor input = at::randn({draw(1, 2), groups * weight.size(1), draw(4, 19), draw(4, 33)});
    const std::vector<int64_t> stride{draw(1, 2), draw(1, 2)}, padding{draw(0, 2), draw(0, 2)}, dilation{1, 1};
    const c10::IValue bias = i % 3 ? c10::IValue(at::randn({weight.size(0)})) : c10::IValue();
    expect_bound(*GetParam(), "aten::conv2d",
                 {i % 2 ? input : amid(input), weight, bias, stride, padding, dilation, groups}, true);
    if (HasFatalFailure()) return;
  }
}

// Of narrow images and of strides, with sums of one part and of several, whatever of both is read again and again.
TEST_P(ConvolutionKernel, is_libtorchs_by_positions) {
  Draw draw(7);
  const std::vector<int64_t> one{1, 1};
  for (int i = 0; i < 60; ++i) {
    const int64_t groups = i % 4 ? 1 : 2, size = draw(1, 3);
    const at::Tensor weight =
        at::randn({groups * draw(32, 110), draw(128, 150) / (size * size) + draw(1, 60), size, size});
    const bool narrow = i % 3 > 0;
    const at::Tensor input =
        at::randn({draw(1, 2), groups * weight.size(1), draw(3, narrow ? 8 : 20), draw(5, narrow ? 8 : 40)});
    const std::vector<int64_t> stride{narrow ? 1 : 2, narrow ? 1 : draw(1, 3)}, padding{draw(0, 1), draw(0, 2)};
    const c10::IValue bias = i % 5 ? c10::IValue(at::randn({weight.size(0)})) : c10::IValue();
    expect_bound(*GetParam(), "aten::conv2d", {i % 2 ? input : amid(input), weight, bias, stride, padding, one, groups},
                 true);
    if (HasFatalFailure()) return;
    expect_bound(*GetParam(), "aten::conv1d",
                 {at::randn({2, weight.size(1), draw(9, 300)}), weight.slice(3, 0, 1).squeeze(3).contiguous(), bias,
                  std::vector<int64_t>{draw(1, 3)}, std::vector<int64_t>{draw(0, 1)}, std::vector<int64_t>{draw(1, 2)},
                  int64_t{1}},
                 true);
    if (HasFatalFailure()) return;
  }
}

// All windows in one column: neighbours of a position are below it.
TEST_P(ConvolutionKernel, is_libtorchs_by_positions_of_a_column) {
  expect_bound(*GetParam(), "aten::conv2d",
               {at::randn({2, 1, 700, 1}), at::randn({40, 1, 130, 1}), c10::IValue(), std::vector<int64_t>{4, 1},
                std::vector<int64_t>{9, 0}, std::vector<int64_t>{1, 1}, int64_t{1}},
               true);
}

// What Winograd's way is for.
TEST_P(ConvolutionKernel, is_libtorchs_by_patches) {
  Draw draw(4);
  const std::vector<int64_t> one{1, 1};
  for (int i = 0; i < 80; ++i) {
    const int64_t groups = i % 4 ? 1 : 2;
    const at::Tensor weight = at::randn({groups * draw(46, 70), draw(46, 60), 3, 3});
    const at::Tensor input = at::randn({draw(1, 3), groups * weight.size(1), draw(3, 20), draw(3, 70)});
    const std::vector<int64_t> padding{draw(0, 3), draw(0, 3)};
    const c10::IValue bias = i % 3 ? c10::IValue(at::randn({weight.size(0)})) : c10::IValue();
    expect_bound(*GetParam(), "aten::conv2d", {i % 2 ? input : amid(input), weight, bias, one, padding, one, groups},
                 true);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ConvolutionKernel, is_libtorchs_for_each_channel_alone) {
  Draw draw(5);
  const std::vector<int64_t> one{1, 1};
  for (int i = 0; i < 150; ++i) {
    const int64_t channels = draw(1, 19), size = 3 + 2 * draw(0, 2), step = draw(1, 2);
    const at::Tensor weight = at::randn({channels, 1, size, size});
    const int64_t columns = i % 3 ? draw(size, 70) : draw(size, 9);
    const at::Tensor input = at::randn({draw(1, 3), channels, draw(size, 60), columns});
    const std::vector<int64_t> stride{step, step}, padding{draw(0, 4), draw(0, 4)};
    const c10::IValue bias = i % 3 ? c10::IValue(at::randn({channels})) : c10::IValue();
    expect_bound(*GetParam(), "aten::conv2d",
                 {i % 2 ? input : amid(input), weight, bias, stride, padding, one, channels}, true);
    if (HasFatalFailure()) return;
  }
}

// Small results beside large ones are no rounding errors.
TEST_P(ConvolutionKernel, is_exact_beside_large_numbers_in_patches) {
  const std::vector<int64_t> one{1, 1};
  for (float number : {1e5f, 1e10f, -1e30f, 3e38f}) {
    at::Tensor input = at::randn({1, 64, 12, 40});
    const at::Tensor weight = at::randn({33, 64, 3, 3}) / 20;
    input[0][7][3][4] = number;
    BoundOperator call("aten::conv2d", {input, weight, {}, one, one, one, int64_t{1}}, true);
    ASSERT_TRUE(call.bound() && call.run_in(*GetParam()));
    const at::Tensor exact = call.exact()[0], made = call.results()[0].to(at::kDouble);
    const at::Tensor error = ((made - exact).abs() / exact.abs().clamp_min(0.1)).max();
    EXPECT_LT(error.item<double>(), 2e-3) << number;
  }
}

// Differences of infinities are no numbers where sums of products are.
TEST_P(ConvolutionKernel, is_libtorchs_for_what_is_no_number_in_patches) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<int64_t> one{1, 1};
  for (float number : {std::nanf(""), inf, -inf, 1e-40f}) {
    at::Tensor input = at::randn({2, 64, 12, 40}), weight = at::randn({33, 64, 3, 3}) / 20;
    input[0][7][3][4] = number;
    input[1][0][0][0] = number;
    input[1][63][11][39] = -number;
    expect_bound(*GetParam(), "aten::conv2d", {input, weight, at::randn({33}), one, one, one, int64_t{1}}, true);
    weight[3][4][1][2] = number;
    expect_bound(*GetParam(), "aten::conv2d", {at::randn({1, 64, 12, 40}), weight, {}, one, one, one, int64_t{1}},
                 true);
  }
}

TEST_P(ConvolutionKernel, is_libtorchs_for_what_is_no_number) {
  const float inf = std::numeric_limits<float>::infinity();
  at::Tensor input = at::randn({1, 3, 9, 11});
  input[0][1][4][5] = std::nanf("");
  input[0][2][0][0] = inf;
  input[0][0][8][10] = 1e-40f;
  const std::vector<int64_t> one{1, 1};
  expect_bound(*GetParam(), "aten::conv2d", {input, at::randn({5, 3, 3, 3}), at::randn({5}), one, one, one, int64_t{1}},
               true);
}

INSTANTIATE_TEST_SUITE_P(Capabilities, ConvolutionKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

TEST(ConvolutionBinder, leaves_the_rest_to_libtorch) {
  const std::vector<int64_t> one{1}, none{0};
  const auto binds = [&](const at::Tensor& input, const at::Tensor& weight, bool constant = true) {
    return BoundOperator("aten::conv1d", {input, weight, c10::IValue(), one, none, one, int64_t{1}}, constant).bound();
  };
  EXPECT_TRUE(binds(at::randn({1, 4, 9}), at::randn({3, 4, 2})));
  EXPECT_FALSE(binds(at::randn({1, 4, 9}), at::randn({3, 4, 2}), false));
  EXPECT_FALSE(binds(at::randn({1, 4, 9}), at::randn({3, 5, 2})));
  EXPECT_FALSE(binds(at::randn({1, 4, 1}), at::randn({3, 4, 2})));
  EXPECT_FALSE(binds(at::randn({1, 4, 9}, at::kDouble), at::randn({3, 4, 2}, at::kDouble)));
  EXPECT_FALSE(binds(at::randn({0, 4, 9}), at::randn({3, 4, 2})));
  EXPECT_FALSE(binds(at::randn({1, 2048, 64}), at::empty({3072, 2048, 3})));
}

// Numbers whose sums are exact in any order.
at::Tensor whole(at::IntArrayRef sizes) { return at::randint(-4, 5, sizes).to(at::kFloat); }

struct OverOneDimension {
  int64_t batch, length, stride, padding;
  std::vector<at::Tensor> weights;
};

// Of channels that are neighbours, as those of embeddings are.
TEST(ConvolutionBinder, embeddings_are_convolved_in_bound_plans) {
  const std::vector<at::Tensor> three{whole({10, 24, 3}), whole({10})};
  const std::vector<at::Tensor> one{whole({7, 24, 1}), whole({7})};
  for (const auto& [batch, length, stride, padding, weights] :
       {OverOneDimension{1, 30, 1, 0, three}, OverOneDimension{3, 30, 1, 0, three},
        OverOneDimension{3, 31, 2, 0, three}, OverOneDimension{2, 30, 1, 1, three}, OverOneDimension{1, 9, 2, 2, three},
        OverOneDimension{2, 12, 1, 0, one}}) {
    Both both(R"(graph(%x : Tensor, %stride : int, %padding : int):
      %w : Tensor = stator::LoadState[slot=0]()
      %b : Tensor = stator::LoadState[slot=1]()
      %one : int = prim::Constant[value=1]()
      %two : int = prim::Constant[value=2]()
      %false : bool = prim::Constant[value=False]()
      %strides : int[] = prim::ListConstruct(%stride)
      %zeros : int[] = prim::ListConstruct(%padding)
      %ones : int[] = prim::ListConstruct(%one)
      %twos : int[] = prim::ListConstruct(%two)
      %t : Tensor = aten::transpose.int(%x, %one, %two)
      %c : Tensor = aten::conv1d(%t, %w, %b, %strides, %zeros, %ones, %one)
      %r : Tensor = aten::relu(%c)
      %m : Tensor = aten::amax(%r, %twos, %false)
      %out : Tuple[Tensor, Tensor] = prim::TupleConstruct(%r, %m)
      return (%out))",
              weights);
    EXPECT_GE(both.run_often({whole({batch, length, 24}), stride, padding}), 2);
  }
}

// The ReLU is the kernel's, and both results are made where the concatenation has them.
TEST(ConvolutionBinder, results_are_made_where_they_are_to_be) {
  Both both(R"(graph(%x : Tensor):
    %w : Tensor = stator::LoadState[slot=0]()
    %none : NoneType = prim::Constant[value=None]()
    %one : int = prim::Constant[value=1]()
    %ones : int[] = prim::ListConstruct(%one, %one)
    %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)
    %r : Tensor = aten::relu(%c)
    %l : Tensor[] = prim::ListConstruct(%x, %r)
    %j : Tensor = aten::cat(%l, %one)
    return (%j))",
            {whole({6, 4, 3, 3})});
  for (int64_t width : {5, 16, 21}) EXPECT_EQ(both.run_often({whole({2, 4, 7, width})}), 2);
}

TEST(ConvolutionBinder, a_single_column_has_zeros_around_it_and_results_lie_where_they_are_to_be) {
  const auto graph = [](const char* widths, const char* joined) {
    return std::string(R"(graph(%x : Tensor):
    %w : Tensor = stator::LoadState[slot=0]()
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %two : int = prim::Constant[value=2]()
    %three : int = prim::Constant[value=3]()
    %none : NoneType = prim::Constant[value=None]()
    %ones : int[] = prim::ListConstruct(%one, %one)
    %zeros : int[] = prim::ListConstruct(%zero, %zero)
    %widths : int[] = prim::ListConstruct()") +
           widths + R"()
    %p : Tensor = aten::constant_pad_nd(%x, %widths, %zero)
    %c : Tensor = aten::conv2d(%p, %w, %none, %ones, %zeros, %ones, %one)
    %n : Tensor = aten::neg(%c)
    %l : Tensor[] = prim::ListConstruct(%n, %c)
    %j : Tensor = aten::cat(%l, )" +
           joined + R"()
    return (%j))";
  };
  for (const char* widths : {"%zero, %zero, %two, %one", "%one, %zero, %two, %one"}) {
    for (const char* joined : {"%one", "%two", "%three"}) {
      Both both(graph(widths, joined), {whole({20, 33, 7, 1})});
      for (int64_t length : {9, 33, 70}) EXPECT_GE(both.run_often({whole({2, 33, length, 1})}), 2) << widths << joined;
    }
  }
}

TEST(ConvolutionBinder, patches_are_made_where_they_are_to_be) {
  Both both(R"(graph(%x : Tensor):
    %w : Tensor = stator::LoadState[slot=0]()
    %v : Tensor = stator::LoadState[slot=1]()
    %b : Tensor = stator::LoadState[slot=2]()
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %ones : int[] = prim::ListConstruct(%one, %one)
    %zeros : int[] = prim::ListConstruct(%zero, %zero)
    %c : Tensor = aten::conv2d(%x, %w, %b, %ones, %ones, %ones, %one)
    %r : Tensor = aten::relu(%c)
    %d : Tensor = aten::conv2d(%r, %v, %b, %ones, %zeros, %ones, %one)
    %s : Tensor = aten::relu(%d)
    %l : Tensor[] = prim::ListConstruct(%r, %s)
    %j : Tensor = aten::cat(%l, %one)
    return (%j))",
            {whole({64, 33, 3, 3}), whole({64, 64, 1, 1}), whole({64})});
  for (int64_t width : {5, 16, 21}) EXPECT_EQ(both.run_often({whole({2, 33, 7, width})}), 3);
}

struct Bounded {
  const char* name;
  std::vector<at::Tensor> weights;
  int64_t groups;
};

void PrintTo(const Bounded& bounded, std::ostream* out) { *out << bounded.name; }

class ConvolutionWays : public testing::TestWithParam<Bounded> {
 protected:
  int64_t channels() const { return GetParam().weights[0].size(1) * GetParam().groups; }
  // A convolution of %x, with lines before it and after it.
  std::string graph(const std::string& before, const std::string& after) const {
    return R"(graph(%x : Tensor):
    %w : Tensor = stator::LoadState[slot=0]()
    %b : Tensor = stator::LoadState[slot=1]()
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %two : int = prim::Constant[value=2]()
    %none : NoneType = prim::Constant[value=None]()
    %least : float = prim::Constant[value=-3.]()
    %most : float = prim::Constant[value=6.]()
    %ones : int[] = prim::ListConstruct(%one, %one)
    %zeros : int[] = prim::ListConstruct(%zero, %zero)
    %groups : int = prim::Constant[value=)" +
           std::to_string(GetParam().groups) + "]()\n" + before +
           "    %c : Tensor = aten::conv2d(%p, %w, %b, %ones, %ones, %ones, %groups)\n" + after;
  }
};

TEST_P(ConvolutionWays, clamp_their_results) {
  for (const char* clamp :
       {"aten::relu6(%c)", "aten::hardtanh(%c, %least, %most)", "aten::clamp(%c, %none, %most)", "aten::relu(%c)"}) {
    Both both(graph("    %p : Tensor = aten::view_as(%x, %x)\n",
                    std::string("    %r : Tensor = ") + clamp + "\n    return (%r)"),
              GetParam().weights);
    for (int64_t width : {5, 21}) EXPECT_EQ(both.run_often({whole({2, channels(), 7, width})}), 1) << clamp;
  }
}

// Each addition beside one that has nothing to do but that, in images that fill vectors and in those that leave a position alone.
TEST_P(ConvolutionWays, are_added_to_others) {
  Both both(graph(R"(    %p : Tensor = aten::view_as(%x, %x)
    %n : Tensor = aten::neg(%x)
    %e : Tensor = aten::conv2d(%n, %w, %b, %ones, %ones, %ones, %groups)
)",
                  R"(    %s : Tensor = aten::add.Tensor(%c, %e, %one)
    %r : Tensor = aten::relu6(%s)
    return (%r))"),
            GetParam().weights);
  for (int64_t width : {5, 7, 9, 21}) {
    EXPECT_GT(both.run_often({whole({2, channels(), 7, width})}), 2) << width;
    EXPECT_GT(both.run_often({whole({1, channels(), width, width})}), 2) << width;
  }
}

TEST_P(ConvolutionWays, put_zeros_around_their_input) {
  const std::string pad = R"(    %widths : int[] = prim::ListConstruct(%zero, %one, %two, %one)
    %p : Tensor = aten::constant_pad_nd(%x, %widths, %zero)
)";
  Both both(graph(pad, "    return (%c)"), GetParam().weights);
  for (int64_t width : {5, 21}) EXPECT_EQ(both.run_often({whole({2, channels(), 7, width})}), 1);
  Both also_returned(graph(pad, "    %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%c, %p)\n    return (%t)"),
                     GetParam().weights);
  EXPECT_GT(also_returned.run_often({whole({2, channels(), 7, 9})}), 1);
  Both changed(graph(pad + "    %y : Tensor = aten::add_.Scalar(%x, %one, %one)\n", "    return (%c)"),
               GetParam().weights);
  changed.run_often({whole({2, channels(), 7, 9})});
}

TEST_P(ConvolutionWays, leave_other_numbers_around_their_input) {
  Both both(graph(R"(    %widths : int[] = prim::ListConstruct(%zero, %one, %two, %one)
    %p : Tensor = aten::constant_pad_nd(%x, %widths, %two)
)",
                  "    return (%c)"),
            GetParam().weights);
  EXPECT_GT(both.run_often({whole({2, channels(), 7, 9})}), 1);
}

INSTANTIATE_TEST_SUITE_P(All, ConvolutionWays,
                         testing::Values(Bounded{"by_channels", {whole({6, 4, 3, 3}), whole({6})}, 1},
                                         Bounded{"by_panels", {whole({70, 4, 5, 5}), whole({70})}, 1},
                                         Bounded{"by_panels_of_points", {whole({70, 90, 1, 1}), whole({70})}, 1},
                                         Bounded{"by_positions", {whole({33, 15, 3, 3}), whole({33})}, 1},
                                         Bounded{"by_patches", {whole({64, 33, 3, 3}), whole({64})}, 1},
                                         Bounded{"each_channel_alone", {whole({6, 1, 3, 3}), whole({6})}, 6}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stator
