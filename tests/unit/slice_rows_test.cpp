// Reductions that take turns with what is around them, some rows at a time: the number of kernels that run, the memory, and results beside the
// dynamic plan's.
#include <gtest/gtest.h>

#include "both_plans.h"

namespace stator {
namespace {

using test::Arguments;
using test::Both;
using test::Side;

// Small whole numbers: sums are exact in any order.
at::Tensor row_numbers(at::IntArrayRef sizes) { return at::randint(-3, 4, sizes, at::kFloat); }

// %x, %y of one size, and %z, which is broadcast to it.
std::string graph_of(std::string_view body) {
  return R"(graph(%x : Tensor, %y : Tensor, %z : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %last : int = prim::Constant[value=-1]()
  %dims : int[] = prim::Constant[value=[-1]]()
  %first : int[] = prim::Constant[value=[0]]()
  %false : bool = prim::Constant[value=False]()
  %true : bool = prim::Constant[value=True]()
  %eps : float = prim::Constant[value=1.]()
  %none : NoneType = prim::Constant[value=None]()
  %d : Tensor = aten::sub.Tensor(%x, %y, %one)
)" + std::string(body);
}

std::vector<c10::IValue> results_of(const c10::IValue& value) {
  return value.isTuple() ? value.toTuple()->elements().vec() : std::vector<c10::IValue>{value};
}

struct Chain {
  const char* name;
  const char* body;
  int kernels = 1;
};

void PrintTo(const Chain& chain, std::ostream* out) { *out << chain.name; }

class SliceRowsOf : public testing::TestWithParam<Chain> {};

// Rows that slices divide and do not, and what is broadcast over the rows, over some of them, over none.
TEST_P(SliceRowsOf, runs_as_one) {
  const std::string graph = graph_of(GetParam().body);
  Both both(graph);
  Side shared(graph, true, {}, 3);
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> sizes[] = {
      {{600, 512}, {512}}, {{601, 513}, {601, 1}}, {{6, 200, 256}, {200, 256}}, {{3, 211, 500}, {3, 211, 500}}};
  for (const auto& [size, broadcast] : sizes) {
    const Arguments arguments{row_numbers(size), row_numbers(size), row_numbers(broadcast)};
    EXPECT_EQ(both.run_often(arguments), GetParam().kernels) << at::IntArrayRef(size);
    const std::vector<c10::IValue> expected = results_of(both.dynamic.run(arguments));
    for (int i = 0; i < 3; ++i) {
      const std::vector<c10::IValue> actual = results_of(shared.run(arguments));
      for (size_t r = 0; r < expected.size(); ++r) test::expect_same(expected[r], actual[r], "three threads");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chains, SliceRowsOf,
                         testing::Values(Chain{"before", R"(%s : Tensor = aten::mul.Tensor(%d, %z)
            %r : Tensor = aten::sum.dim_IntList(%s, %dims, %false, %none)
            return (%r))"},
                                         Chain{"before_and_after", R"(%s : Tensor = aten::mul.Tensor(%d, %d)
            %m : Tensor = aten::mean.dim(%s, %dims, %true, %none)
            %e : Tensor = aten::add.Scalar(%m, %eps, %one)
            %r : Tensor = aten::rsqrt(%e)
            return (%r))"},
                                         Chain{"two_results",
                                               R"(%v : Tensor, %i : Tensor = aten::max.dim(%d, %last, %false)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%v, %i)
            return (%r))"},
                                         Chain{"softmax_between", R"(%s : Tensor = aten::softmax.int(%d, %last, %none)
            %t : Tensor = aten::mul.Tensor(%s, %z)
            %r : Tensor = aten::sum.dim_IntList(%t, %dims, %false, %none)
            return (%r))"},
                                         Chain{"what_is_read_twice", R"(%m : Tensor = aten::amax(%d, %dims, %true)
            %t : Tensor = aten::sub.Tensor(%d, %m, %one)
            %u : Tensor = aten::mul.Tensor(%t, %z)
            %r : Tensor = aten::sum.dim_IntList(%u, %dims, %false, %none)
            return (%r))"},
                                         Chain{"also_returned", R"(%m : Tensor = aten::mean.dim(%d, %dims, %true, %none)
            %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%m, %d)
            return (%r))",
                                               2},
                                         Chain{"as_much_written", R"(%s : Tensor = aten::softmax.int(%d, %last, %none)
            return (%s))",
                                               2},
                                         Chain{"of_all", R"(%s : Tensor = aten::sum(%d, %none)
            return (%s))",
                                               2}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SliceRows, takes_no_more_memory_than_slices_do) {
  Both both(graph_of(R"(%r : Tensor = aten::amax(%d, %dims, %false)
    return (%r))"));
  EXPECT_EQ(both.run_often({row_numbers({2000, 300}), row_numbers({2000, 300}), row_numbers({1})}), 1);
  EXPECT_LE(both.plans().at(0)->workspace_bytes, 64 * 1024);
}

TEST(SliceRows, leaves_alone_what_stays_in_a_cache_or_goes_down_columns) {
  Both rows(graph_of(R"(%r : Tensor = aten::amax(%d, %dims, %false)
    return (%r))"));
  EXPECT_EQ(rows.run_often({row_numbers({300, 300}), row_numbers({300, 300}), row_numbers({1})}), 2) << "small";
  EXPECT_EQ(rows.run_often({row_numbers({2, 300000}), row_numbers({2, 300000}), row_numbers({1})}), 2) << "long rows";
  Both columns(graph_of(R"(%r : Tensor = aten::amax(%d, %first, %false)
    return (%r))"));
  EXPECT_EQ(columns.run_often({row_numbers({600, 700}), row_numbers({600, 700}), row_numbers({1})}), 2);
}

// Each row wants the results of all: they cannot take turns with those that make them.
TEST(SliceRows, rows_that_depend_on_one_another_are_apart) {
  Both both(graph_of(R"(%m : Tensor = aten::amax(%d, %dims, %false)
    %t : Tensor = aten::mul.Tensor(%y, %m)
    %r : Tensor = aten::sum.dim_IntList(%t, %dims, %false, %none)
    return (%r))"));
  EXPECT_EQ(both.run_often({row_numbers({640, 640}), row_numbers({640, 640}), row_numbers({1})}), 2);
}

}  // namespace
}  // namespace stator
