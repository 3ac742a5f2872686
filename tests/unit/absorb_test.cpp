// Kernels that take over what comes right after them: the number of kernels that run, and results beside the dynamic plan's.
#include <gtest/gtest.h>

#include "both_plans.h"

namespace stator {
namespace {

using test::Arguments;
using test::Both;

// Small whole numbers: sums are exact in any order.
at::Tensor numbers(at::IntArrayRef sizes) { return at::randint(-3, 4, sizes, at::kFloat); }
at::Tensor indices(at::IntArrayRef sizes, int64_t end) { return at::randint(0, end, sizes, at::kLong); }

Arguments layer(at::IntArrayRef x, int64_t width) { return {numbers(x), numbers({width, x.back()}), numbers({width})}; }

constexpr std::string_view kLinearRelu = R"(graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %y : Tensor = aten::linear(%x, %w, %b)
  %r : Tensor = aten::relu(%y)
  return (%r))";

TEST(AbsorbCopies, a_linear_layer_makes_its_relu) {
  Both both(kLinearRelu);
  for (int64_t rows : {1, 2, 7, 40}) {
    for (int64_t width : {1, 3, 16, 37, 130}) EXPECT_EQ(both.run_often(layer({rows, 11}, width)), 1) << rows << width;
  }
  EXPECT_EQ(both.run_often(layer({9}, 20)), 1);
  EXPECT_EQ(both.run_often(layer({2, 3, 9}, 20)), 1);
  EXPECT_EQ(both.run_often(layer({5, 900}, 20)), 1);
}

TEST(AbsorbCopies, the_relu_keeps_nan) {
  Both both(kLinearRelu);
  Arguments arguments = layer({4, 5}, 6);
  arguments[0].toTensor()[1][2] = std::numeric_limits<float>::quiet_NaN();
  arguments[0].toTensor()[3][0] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(both.run_often(arguments), 1);
}

struct AbsorbCase {
  const char* name;
  const char* text;
  int kernels;
};

void PrintTo(const AbsorbCase& one, std::ostream* out) { *out << one.name; }

class AbsorbCopiesOf : public testing::TestWithParam<AbsorbCase> {};

TEST_P(AbsorbCopiesOf, a_product_and_what_is_after_it) {
  Both both(std::string(R"(graph(%x : Tensor, %w : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %minus : int = prim::Constant[value=-1]()
  %nought : float = prim::Constant[value=0.0]()
  %six : float = prim::Constant[value=6.0]()
  %none : NoneType = prim::Constant[value=None]()
  %y : Tensor = aten::mm(%x, %w)
)") + GetParam().text);
  for (int64_t rows : {1, 6, 31}) {
    for (int64_t width : {1, 8, 19}) {
      EXPECT_EQ(both.run_often({numbers({rows, 5}), numbers({5, width})}), GetParam().kernels)
          << rows << " x " << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pointwise, AbsorbCopiesOf,
    testing::Values(AbsorbCase{"clamp_min", "%r : Tensor = aten::clamp_min(%y, %zero)\n return (%r)", 1},
                    AbsorbCase{"clamp", "%r : Tensor = aten::clamp(%y, %nought, %none)\n return (%r)", 1},
                    AbsorbCase{"relu_in_place", "%r : Tensor = aten::relu_(%y)\n return (%r)", 1},
                    AbsorbCase{"two_relus", "%q : Tensor = aten::relu(%y)\n %r : Tensor = aten::relu(%q)\n return (%r)",
                               1},
                    AbsorbCase{"clamp_to_one", "%r : Tensor = aten::clamp_min(%y, %one)\n return (%r)", 2},
                    AbsorbCase{"clamp_on_both_sides", "%r : Tensor = aten::clamp(%y, %nought, %six)\n return (%r)", 2},
                    AbsorbCase{"relu_then_more", R"(%q : Tensor = aten::relu(%y)
            %p : Tensor = aten::mul.Tensor(%q, %q)
            %r : Tensor = aten::add.Tensor(%p, %q, %one)
            return (%r))",
                               2},
                    AbsorbCase{"also_returned", R"(%q : Tensor = aten::relu(%y)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%q, %y)
            return (%r))",
                               2},
                    AbsorbCase{"read_twice", R"(%q : Tensor = aten::relu(%y)
            %r : Tensor = aten::sub.Tensor(%q, %y, %one)
            return (%r))",
                               2},
                    AbsorbCase{"read_by_another_product", R"(%q : Tensor = aten::relu(%y)
            %t : Tensor = aten::t(%y)
            %r : Tensor = aten::mm(%q, %t)
            return (%r))",
                               3},
                    AbsorbCase{"seen_through_a_view", R"(%shape : int[] = prim::ListConstruct(%minus)
            %v : Tensor = aten::view(%y, %shape)
            %r : Tensor = aten::relu(%v)
            return (%r))",
                               1},
                    AbsorbCase{"changed_through_a_view", R"(%shape : int[] = prim::ListConstruct(%minus)
            %v : Tensor = aten::view(%y, %shape)
            %w2 : Tensor = aten::i0_(%v)
            %r : Tensor = aten::relu(%y)
            return (%r))",
                               2},
                    AbsorbCase{"changed_in_part", R"(%s : Tensor = aten::select.int(%y, %zero, %zero)
            %f : Tensor = aten::i0_(%s)
            %r : Tensor = aten::relu(%y)
            return (%r))",
                               2}),
    [](const auto& info) { return std::string(info.param.name); });

class AbsorbAddendsOf : public testing::TestWithParam<AbsorbCase> {};

TEST_P(AbsorbAddendsOf, products) {
  Both both(std::string(R"(graph(%x : Tensor, %w : Tensor, %b : Tensor, %y : Tensor, %z : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant[value=None]()
  %p : Tensor = aten::linear(%x, %w, %b)
)") + GetParam().text);
  for (int64_t rows : {2, 13, 200}) {
    for (int64_t width : {5, 16, 37, 130}) {
      for (int64_t depth : {3, 500}) {
        EXPECT_EQ(both.run_often({numbers({rows, depth}), numbers({width, depth}), numbers({width}),
                                  numbers({rows, width}), numbers({rows, width})}),
                  GetParam().kernels)
            << rows << " x " << depth << " x " << width;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Residual, AbsorbAddendsOf,
    testing::Values(AbsorbCase{"before", "%r : Tensor = aten::add.Tensor(%y, %p, %one)\n return (%r)", 1},
                    AbsorbCase{"behind", "%r : Tensor = aten::add.Tensor(%p, %y, %one)\n return (%r)", 1},
                    AbsorbCase{"in_place", "%r : Tensor = aten::add_.Tensor(%p, %y, %one)\n return (%r)", 1},
                    AbsorbCase{"then_relu", R"(%s : Tensor = aten::add.Tensor(%p, %y, %one)
            %r : Tensor = aten::relu(%s)
            return (%r))",
                               1},
                    AbsorbCase{"after_relu", R"(%s : Tensor = aten::relu(%p)
            %r : Tensor = aten::add.Tensor(%y, %s, %one)
            return (%r))",
                               2},
                    AbsorbCase{"two", R"(%s : Tensor = aten::add.Tensor(%p, %y, %one)
            %r : Tensor = aten::add.Tensor(%z, %s, %one)
            return (%r))",
                               2},
                    AbsorbCase{"twice", "%r : Tensor = aten::add.Tensor(%y, %p, %two)\n return (%r)", 2},
                    AbsorbCase{"itself", "%r : Tensor = aten::add.Tensor(%p, %p, %one)\n return (%r)", 2},
                    AbsorbCase{"of_another_product", R"(%q : Tensor = aten::linear(%x, %w, %none)
            %r : Tensor = aten::add.Tensor(%p, %q, %one)
            return (%r))",
                               2},
                    AbsorbCase{"made_later", R"(%m : Tensor = aten::mul.Tensor(%y, %z)
            %r : Tensor = aten::add.Tensor(%p, %m, %one)
            return (%r))",
                               2},
                    AbsorbCase{"made_before", R"(%m : Tensor = aten::mul.Tensor(%y, %z)
            %q : Tensor = aten::linear(%x, %w, %b)
            %r : Tensor = aten::add.Tensor(%q, %m, %one)
            return (%r))",
                               2},
                    AbsorbCase{"also_returned", R"(%s : Tensor = aten::add.Tensor(%p, %y, %one)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%p, %s)
            return (%r))",
                               2},
                    AbsorbCase{"of_a_row", R"(%f : Tensor = aten::select.int(%y, %zero, %zero)
            %r : Tensor = aten::add.Tensor(%p, %f, %one)
            return (%r))",
                               1},
                    AbsorbCase{"into_a_concatenation", R"(%s : Tensor = aten::add.Tensor(%p, %y, %one)
            %l : Tensor[] = prim::ListConstruct(%s, %z)
            %r : Tensor = aten::cat(%l, %one)
            return (%r))",
                               2},
                    AbsorbCase{"changed_in_between", R"(%c : Tensor = aten::mul.Tensor(%y, %z)
            %q : Tensor = aten::linear(%x, %w, %none)
            %d : Tensor = aten::mul_.Tensor(%c, %z)
            %r : Tensor = aten::add.Tensor(%q, %c, %one)
            return (%r))",
                               2}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(AbsorbAddends, products_without_bias_take_one_instead) {
  Both both(R"(graph(%x : Tensor, %w : Tensor, %b : Tensor):
    %one : int = prim::Constant[value=1]()
    %p : Tensor = aten::matmul(%x, %w)
    %r : Tensor = aten::add.Tensor(%p, %b, %one)
    return (%r))");
  for (int64_t rows : {1, 4, 30}) {
    for (int64_t width : {1, 7, 40}) {
      const at::Tensor x = numbers({rows, 6}), stack = numbers({3, 2, rows, 6}), w = numbers({6, width});
      EXPECT_EQ(both.run_often({x, w, numbers({width})}), 1) << rows << " x " << width;
      EXPECT_EQ(both.run_often({stack, w, numbers({width})}), 1) << rows << " x " << width;
      EXPECT_EQ(both.run_often({stack, w, numbers({3, 2, rows, width})}), 1) << rows << " x " << width;
      EXPECT_EQ(both.run_often({stack, numbers({3, 2, 6, width}), numbers({3, 2, rows, width})}), 1);
      EXPECT_EQ(both.run_often({stack, w, numbers({2, rows, width})}), 2) << "an addend for two of six";
    }
  }
}

// Of a constant weight, also in a single row.
TEST(AbsorbAddends, products_with_packed_weights) {
  for (int64_t width : {3, 40, 150}) {
    Both both(R"(graph(%x : Tensor, %y : Tensor):
      %w : Tensor = stator::LoadState[slot=0]()
      %b : Tensor = stator::LoadState[slot=1]()
      %one : int = prim::Constant[value=1]()
      %p : Tensor = aten::linear(%x, %w, %b)
      %s : Tensor = aten::add.Tensor(%y, %p, %one)
      %r : Tensor = aten::relu(%s)
      return (%r))",
              {numbers({width, 20}), numbers({width})});
    for (int64_t rows : {1, 2, 3, 30, 100})
      EXPECT_EQ(both.run_often({numbers({rows, 20}), numbers({rows, width})}), 1) << rows << " x " << width;
    EXPECT_EQ(both.run_often({numbers({20}), numbers({width})}), 1) << width;
    EXPECT_EQ(both.run_often({numbers({4, 20}), numbers({width})}), 1) << width;
    EXPECT_EQ(both.run_often({numbers({4, 20}), numbers({width, 4}).t()}), 2) << width << ", an addend of columns";
  }
}

struct Addition {
  const char* name;
  std::vector<int64_t> x, weight;
  int64_t stride, padding, groups;
  int kernels = 1;
};

void PrintTo(const Addition& addition, std::ostream* out) { *out << addition.name; }

class AbsorbAddendsInto : public testing::TestWithParam<Addition> {};

TEST_P(AbsorbAddendsInto, a_convolution) {
  const auto& [name, x, w, stride, padding, groups, kernels] = GetParam();
  const auto pair = [](int64_t n) { return "[" + std::to_string(n) + ", " + std::to_string(n) + "]"; };
  for (const bool biased : {true, false}) {
    Both both(R"(graph(%x : Tensor, %y : Tensor):
      %w : Tensor = stator::LoadState[slot=0]()
      %one : int = prim::Constant[value=1]()
      %two : float = prim::Constant[value=2.]()
      %minus : float = prim::Constant[value=-5.]()
      %ones : int[] = prim::Constant[value=[1, 1]]()
)" +
                  std::string(biased ? "      %b : Tensor = stator::LoadState[slot=1]()\n"
                                     : "      %b : NoneType = prim::Constant[value=None]()\n") +
                  "      %stride : int[] = prim::Constant[value=" + pair(stride) + "]()\n" +
                  "      %padding : int[] = prim::Constant[value=" + pair(padding) + "]()\n" +
                  "      %groups : int = prim::Constant[value=" + std::to_string(groups) + "]()\n" + R"(
      %p : Tensor = aten::conv2d(%x, %w, %b, %stride, %padding, %ones, %groups)
      %s : Tensor = aten::add.Tensor(%p, %y, %one)
      %r : Tensor = aten::clamp(%s, %minus, %two)
      return (%r))",
              {numbers(w), numbers({w[0]})});
    const at::Tensor in = numbers(x);
    const at::Tensor y =
        numbers(at::conv2d(in, numbers(w), {}, {stride, stride}, {padding, padding}, 1, groups).sizes());
    EXPECT_EQ(both.run_often({in, y}), kernels);
    EXPECT_EQ(both.run_often({in, y.to(at::MemoryFormat::ChannelsLast).clone()}), 2) << "one that lies otherwise";
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, AbsorbAddendsInto,
                         testing::Values(Addition{"winograd", {1, 24, 14, 14}, {40, 24, 3, 3}, 1, 1, 1},
                                         Addition{"winograd_of_images", {2, 64, 9, 21}, {64, 64, 3, 3}, 1, 1, 1},
                                         Addition{"panels", {1, 70, 12, 12}, {80, 70, 1, 1}, 1, 0, 1},
                                         Addition{"panels_in_parts", {1, 300, 12, 12}, {80, 300, 1, 1}, 1, 0, 1},
                                         Addition{"positions", {1, 150, 7, 7}, {80, 150, 1, 1}, 1, 0, 1},
                                         Addition{"positions_in_parts", {2, 250, 7, 5}, {66, 250, 1, 1}, 1, 0, 1},
                                         Addition{"rows", {1, 3, 40, 40}, {12, 3, 5, 5}, 1, 2, 1},
                                         Addition{"rows_among_others", {2, 3, 9, 9}, {12, 3, 5, 5}, 1, 0, 1},
                                         Addition{"groups", {2, 12, 11, 10}, {20, 3, 3, 3}, 2, 1, 4},
                                         Addition{"channels_alone", {1, 12, 14, 14}, {12, 1, 3, 3}, 1, 1, 12, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

// %a is needed where a run leaves the plan.
TEST(AbsorbCopies, a_relu_is_apart_if_the_rest_of_a_run_may_need_what_it_reads) {
  Both both(R"(graph(%x : Tensor, %w : Tensor, %chosen : Tensor):
    %a : Tensor = aten::mm(%x, %w)
    %m : Tensor = aten::masked_select(%x, %chosen)
    %n : Tensor = aten::neg(%m)
    %r : Tensor = aten::relu(%a)
    %both : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %r)
    return (%both))");
  const at::Tensor x = numbers({3, 4}), w = numbers({4, 5}), some = at::eye(3, 4, at::kBool);
  EXPECT_EQ(both.run_often({x, w, some}), 3);
  EXPECT_EQ(both.run({x, w, at::ones_like(some)}), 1);
  EXPECT_EQ(both.run({x, w, some}), 3);
}

class AbsorbCopiesInto : public testing::TestWithParam<AbsorbCase> {};

TEST_P(AbsorbCopiesInto, a_concatenation) {
  Both both(std::string(R"(graph(%x : Tensor, %w : Tensor, %table : Tensor, %ids : Tensor, %y : Tensor):
  %minus : int = prim::Constant[value=-1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %false : bool = prim::Constant[value=False]()
  %none : NoneType = prim::Constant[value=None]()
)") + GetParam().text);
  for (int64_t rows : {1, 2, 7}) {
    for (int64_t width : {1, 4, 16, 45}) {
      const at::Tensor w = numbers({6, width}), table = numbers({20, width});
      EXPECT_EQ(both.run_often({numbers({rows, 6}), w, table, indices({rows}, 20), numbers({rows, width})}),
                GetParam().kernels)
          << rows << " x " << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Joined, AbsorbCopiesInto,
                         testing::Values(AbsorbCase{"of_products", R"(%a : Tensor = aten::mm(%x, %w)
            %b : Tensor = aten::embedding(%table, %ids, %minus, %false, %false)
            %l : Tensor[] = prim::ListConstruct(%a, %b)
            %r : Tensor = aten::cat(%l, %one)
            return (%r))",
                                                    2},
                                         AbsorbCase{"of_rows", R"(%a : Tensor = aten::mm(%x, %w)
            %b : Tensor = aten::softmax.int(%y, %one, %none)
            %l : Tensor[] = prim::ListConstruct(%a, %b)
            %r : Tensor = aten::cat(%l, %zero)
            return (%r))",
                                                    2},
                                         AbsorbCase{"with_inputs", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%y, %a, %y)
            %r : Tensor = aten::cat(%l, %minus)
            return (%r))",
                                                    3},
                                         AbsorbCase{"with_a_relu", R"(%a : Tensor = aten::mm(%x, %w)
            %b : Tensor = aten::relu(%a)
            %l : Tensor[] = prim::ListConstruct(%b, %y)
            %r : Tensor = aten::cat(%l, %one)
            return (%r))",
                                                    2},
                                         AbsorbCase{"of_reshaped", R"(%a : Tensor = aten::mm(%x, %w)
            %shape : int[] = prim::ListConstruct(%minus, %one)
            %b : Tensor = aten::view(%a, %shape)
            %c : Tensor = aten::view(%y, %shape)
            %l : Tensor[] = prim::ListConstruct(%c, %b)
            %r : Tensor = aten::cat(%l, %zero)
            return (%r))",
                                                    2},
                                         AbsorbCase{"in_two_places", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%a, %y)
            %s : Tensor = aten::stack(%l, %one)
            %c : Tensor = aten::cat(%l, %one)
            %n : Tensor = aten::neg(%a)
            %r : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%s, %c, %n)
            return (%r))",
                                                    5},
                                         AbsorbCase{"and_are_returned", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%a, %y)
            %c : Tensor = aten::cat(%l, %one)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%a, %c)
            return (%r))",
                                                    3},
                                         AbsorbCase{"and_another_product", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%a, %y)
            %c : Tensor = aten::cat(%l, %zero)
            %t : Tensor = aten::t(%a)
            %p : Tensor = aten::mm(%t, %x)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%p, %c)
            return (%r))",
                                                    4},
                                         AbsorbCase{"that_is_changed", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%a, %y)
            %c : Tensor = aten::cat(%l, %zero)
            %s : Tensor = aten::select.int(%c, %zero, %zero)
            %f : Tensor = aten::i0_(%s)
            %n : Tensor = aten::neg(%a)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %c)
            return (%r))",
                                                    4},
                                         AbsorbCase{"of_a_concatenation", R"(%a : Tensor = aten::mm(%x, %w)
            %l : Tensor[] = prim::ListConstruct(%a, %y)
            %c : Tensor = aten::cat(%l, %zero)
            %k : Tensor[] = prim::ListConstruct(%c, %c)
            %r : Tensor = aten::cat(%k, %one)
            return (%r))",
                                                    4}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AbsorbCopies, products_of_stacks_are_made_in_the_order_that_is_asked_for) {
  Both both(R"(graph(%x : Tensor, %y : Tensor):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %two : int = prim::Constant[value=2]()
    %p : Tensor = aten::matmul(%x, %y)
    %t : Tensor = aten::transpose.int(%p, %one, %two)
    %r : Tensor = aten::clone(%t, %zero)
    return (%r))");
  EXPECT_EQ(both.run_often({numbers({2, 3, 5, 4}), numbers({2, 3, 4, 7})}), 1);
  EXPECT_EQ(both.run_often({numbers({1, 3, 5, 4}), numbers({1, 3, 4, 16})}), 1);
  EXPECT_EQ(both.run_often({numbers({3, 1, 5, 4}), numbers({3, 1, 4, 6})}), 1);
  for (const auto& plan : both.plans()) EXPECT_TRUE(plan->only_kernels);
}

TEST(AbsorbCopies, heads_of_attention_are_put_together) {
  Both both(R"(graph(%q : Tensor, %k : Tensor, %v : Tensor):
    %zero : float = prim::Constant[value=0.0]()
    %false : bool = prim::Constant[value=False]()
    %none : NoneType = prim::Constant[value=None]()
    %contiguous : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %two : int = prim::Constant[value=2]()
    %a : Tensor = aten::scaled_dot_product_attention(%q, %k, %v, %none, %zero, %false, %none, %false)
    %t : Tensor = aten::transpose.int(%a, %one, %two)
    %r : Tensor = aten::clone(%t, %contiguous)
    return (%r))");
  const auto heads = [] { return at::rand({2, 4, 5, 8}); };
  EXPECT_EQ(both.run_often({heads(), heads(), heads()}), 1);
  for (const auto& plan : both.plans()) EXPECT_TRUE(plan->only_kernels);
}

TEST(AbsorbCopies, constant_indices_pick_into_their_place) {
  Both both(R"(graph(%x : Tensor, %i : Tensor, %j : Tensor, %y : Tensor):
    %one : int = prim::Constant[value=1]()
    %none : NoneType = prim::Constant[value=None]()
    %at : Tensor?[] = prim::ListConstruct(%none, %i, %j)
    %p : Tensor = aten::index.Tensor(%x, %at)
    %l : Tensor[] = prim::ListConstruct(%y, %p)
    %r : Tensor = aten::cat(%l, %one)
    return (%r))");
  for (int64_t rows : {1, 3}) {
    EXPECT_EQ(both.run_often({numbers({rows, 5, 6}), indices({7}, 5), indices({7}, 6), numbers({rows, 2})}), 2);
  }
}

// Sums of bags may find that an index is out of range; then all that was made before is handed over.
TEST(AbsorbCopies, bags_are_summed_in_their_places) {
  Both both(R"(graph(%table : Tensor, %i : Tensor, %j : Tensor, %o : Tensor, %x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %false : bool = prim::Constant[value=False]()
    %none : NoneType = prim::Constant[value=None]()
    %a : Tensor, %a1 : Tensor, %a2 : Tensor, %a3 : Tensor = aten::embedding_bag(%table, %i, %o, %false, %zero, %false, %none, %false)
    %b : Tensor, %b1 : Tensor, %b2 : Tensor, %b3 : Tensor = aten::embedding_bag(%table, %j, %o, %false, %zero, %false, %none, %false)
    %l : Tensor[] = prim::ListConstruct(%a, %x, %b)
    %r : Tensor = aten::stack(%l, %one)
    return (%r))");
  for (int64_t width : {1, 8, 13, 64}) {
    Arguments arguments{numbers({9, width}), indices({7}, 9), indices({7}, 9), at::tensor({0, 3, 3}),
                        numbers({3, width})};
    EXPECT_EQ(both.run_often(arguments), 3);
    arguments[2].toTensor()[6] = 9;
    EXPECT_THROW(both.bound.run(arguments), Error);
    arguments[2].toTensor()[6] = 8;
    EXPECT_EQ(both.run(arguments), 3);
  }
}

// %a lies in %c when the run leaves the plan, and is then to be a tensor with views, which %c would not let it have.
TEST(AbsorbCopies, what_is_in_a_concatenation_is_itself_again_when_a_run_leaves) {
  Both both(R"(graph(%x : Tensor, %w : Tensor, %chosen : Tensor):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %minus : int = prim::Constant[value=-1]()
    %shape : int[] = prim::ListConstruct(%minus)
    %a : Tensor = aten::mm(%x, %w)
    %u : Tensor = aten::view(%a, %shape)
    %m : Tensor = aten::masked_select(%x, %chosen)
    %n : Tensor = aten::neg(%m)
    %v : Tensor = aten::view(%a, %shape)
    %s : int = aten::size.int(%u, %zero)
    %t : int = aten::size.int(%v, %zero)
    %sum : int = aten::add.int(%s, %t)
    %l : Tensor[] = prim::ListConstruct(%a, %x)
    %c : Tensor = aten::cat(%l, %one)
    %d : Tensor = aten::add.Scalar(%c, %sum, %one)
    %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %d)
    return (%r))");
  const at::Tensor x = numbers({3, 4}), some = at::eye(3, 4, at::kBool);
  for (const at::Tensor& w : {numbers({4, 5}), numbers({4, 1})}) {
    EXPECT_EQ(both.run_often({x, w, some}), 4) << "the product, a copy of the input, the negation, the sum";
    EXPECT_EQ(both.run({x, w, at::ones_like(some)}), 1);
    EXPECT_EQ(both.run({x, w, some}), 4);
  }
}

TEST(AbsorbCopies, what_only_a_concatenation_reads_is_there_when_a_run_leaves) {
  Both both(R"(graph(%x : Tensor, %w : Tensor, %chosen : Tensor):
    %one : int = prim::Constant[value=1]()
    %a : Tensor = aten::mm(%x, %w)
    %m : Tensor = aten::masked_select(%x, %chosen)
    %n : Tensor = aten::neg(%m)
    %l : Tensor[] = prim::ListConstruct(%x, %a, %a)
    %c : Tensor = aten::cat(%l, %one)
    %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %c)
    return (%r))");
  const at::Tensor x = numbers({3, 4}), w = numbers({4, 5}), some = at::eye(3, 4, at::kBool);
  EXPECT_EQ(both.run_often({x, w, some}), 4) << "the product, its copy, that of the input, the negation";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(both.run({x, w, at::ones_like(some)}), 1);
  EXPECT_EQ(both.run({x, w, some}), 4);
}

}  // namespace
}  // namespace stator
