// Rows sorted, and the k greatest or least of their elements, beside LibTorch's: the same ones, equal elements in the same order.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "both_plans.h"
#include "bound_operators.h"

namespace stator {
namespace {

void expect_topk(const at::Tensor& input, int64_t k, int64_t dim = -1) {
  for (bool greatest : {true, false}) {
    for (bool sorted : {true, false}) expect_bound(kernels(), "aten::topk", {input, k, dim, greatest, sorted});
  }
}

TEST(TopKKernel, is_libtorchs_with_many_equal_elements) {
  for (int64_t count : {1, 2, 3, 5, 16, 17, 40, 100, 257, 1000, 4096}) {
    for (int64_t k : {int64_t{1}, int64_t{2}, count / 64, count / 50, count / 2, count - 1, count}) {
      if (k < 1 || k > count) continue;
      for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong})
        expect_topk(at::randint(0, std::max<int64_t>(2, count / 3), {3, count}).to(dtype), k);
      expect_topk(at::randn({2, count}), k);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TopKKernel, is_libtorchs_for_what_is_no_number) {
  at::Tensor input = at::randint(-2, 3, {4, 60}).to(at::kFloat);
  input.slice(1, 3, 60, 7).fill_(std::nanf(""));
  input.slice(1, 5, 60, 11).fill_(INFINITY);
  input.slice(1, 6, 60, 11).fill_(-0.0f);
  for (int64_t k : {1, 5, 30, 60}) expect_topk(input, k);
  expect_topk(input.to(at::kDouble), 20);
}

TEST(TopKKernel, takes_elements_at_any_distance) {
  expect_topk(at::randn({3, 4, 30}), 4);
  expect_topk(at::randn({30, 6}).t(), 4);
  expect_topk(at::randn({9}), 3, 0);
  expect_topk(at::randn({4, 30, 1}), 3, 1);
  expect_topk(at::randn({5, 30}).slice(1, 0, 30, 3), 4);
}

TEST(TopKBinder, leaves_the_rest_to_libtorch) {
  const auto bound = [](const at::Tensor& input, int64_t k, int64_t dim) {
    return BoundOperator("aten::topk", {input, k, dim, true, true}).bound();
  };
  EXPECT_TRUE(bound(at::randn({2, 9}), 3, -1));
  EXPECT_FALSE(bound(at::randn({2, 9}), 10, -1));  // an error
  EXPECT_FALSE(bound(at::randn({2, 9}), 0, -1));
  EXPECT_FALSE(bound(at::randn({2, 9}), 3, 2));     // an error
  EXPECT_FALSE(bound(at::randn({9, 4}), 3, 0));     // rows side by side
  EXPECT_FALSE(bound(at::randn({2, 5000}), 3, 1));  // long
  EXPECT_FALSE(bound(at::randn({2, 9}).to(at::kHalf), 3, 1));
}

TEST(TopKBinder, is_bound_in_whole_plans) {
  test::Both both(R"(graph(%x : Tensor):
    %k : int = prim::Constant[value=3]()
    %last : int = prim::Constant[value=-1]()
    %yes : bool = prim::Constant[value=True]()
    %p : Tensor = aten::sigmoid(%x)
    %v : Tensor, %i : Tensor = aten::topk(%p, %k, %last, %yes, %yes)
    %n : Tensor = aten::neg(%v)
    %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %i)
    return (%t))");
  for (int64_t count : {3, 10, 50}) EXPECT_EQ(both.run_often({at::randn({4, count})}), 3);
}

void expect_sorted(const at::Tensor& input, int64_t dim = -1) {
  for (bool descending : {true, false}) {
    expect_bound(kernels(), "aten::sort", {input, dim, descending});
    expect_bound(kernels(), "aten::argsort", {input, dim, descending});
    expect_bound(kernels(), "aten::sort.stable", {input, c10::IValue(), dim, descending});
    expect_bound(kernels(), "aten::sort.stable", {input, true, dim, descending});
    expect_bound(kernels(), "aten::argsort.stable", {input, true, dim, descending});
  }
}

TEST(SortKernel, is_libtorchs_with_many_equal_elements) {
  for (int64_t count : {1, 2, 3, 5, 16, 17, 40, 100, 1000, 4096}) {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong})
      expect_sorted(at::randint(0, std::max<int64_t>(2, count / 3), {3, count}).to(dtype));
    expect_sorted(at::randn({2, count}));
    if (HasFatalFailure()) return;
  }
}

TEST(SortKernel, is_libtorchs_for_what_is_no_number) {
  for (int64_t count : {16, 60}) {
    at::Tensor input = at::randint(-2, 3, {4, count}).to(at::kFloat);
    input.slice(1, 3, count, 7).fill_(std::nanf(""));
    input.slice(1, 5, count, 11).fill_(INFINITY);
    input.slice(1, 6, count, 11).fill_(-0.0f);
    expect_sorted(input);
    expect_sorted(input.to(at::kDouble));
  }
}

TEST(SortKernel, takes_elements_at_any_distance) {
  expect_sorted(at::randn({3, 4, 30}));
  expect_sorted(at::randn({9}), 0);
  expect_sorted(at::randn({4, 30, 1}), 1);
  expect_sorted(at::randn({5, 30}).slice(1, 0, 30, 3));
}

TEST(SortBinder, leaves_the_rest_to_libtorch) {
  const auto bound = [](const at::Tensor& input, int64_t dim) {
    return BoundOperator("aten::sort", {input, dim, false}).bound();
  };
  EXPECT_TRUE(bound(at::randn({2, 9}), -1));
  EXPECT_FALSE(bound(at::randn({2, 9}), 2));     // an error
  EXPECT_FALSE(bound(at::randn({9, 4}), 0));     // rows side by side
  EXPECT_FALSE(bound(at::randn({2, 5000}), 1));  // long
  EXPECT_FALSE(bound(at::randn({2, 9}).to(at::kHalf), 1));
}

TEST(SortBinder, is_bound_in_whole_plans) {
  test::Both both(R"(graph(%x : Tensor):
    %last : int = prim::Constant[value=-1]()
    %yes : bool = prim::Constant[value=True]()
    %p : Tensor = aten::sigmoid(%x)
    %v : Tensor, %i : Tensor = aten::sort(%p, %last, %yes)
    %j : Tensor = aten::argsort(%i, %last, %yes)
    %n : Tensor = aten::neg(%v)
    %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%n, %j)
    return (%t))");
  for (int64_t count : {3, 10, 50}) EXPECT_EQ(both.run_often({at::randn({4, count})}), 4);
}

}  // namespace
}  // namespace stator
