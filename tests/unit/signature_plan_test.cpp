// Signature plans against the dynamic plan: same results, whatever changes between runs and within one.
#include <gtest/gtest.h>

#include <thread>

#include "both_plans.h"

namespace stator {
namespace {

using test::Arguments;
using test::Both;
using test::Side;

constexpr std::string_view kChain = R"(graph(%x : Tensor, %y : Tensor):
  %two : int = prim::Constant[value=2]()
  %half : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::mul.Tensor(%x, %y)
  %b : Tensor = aten::add.Tensor(%a, %x, %two)
  %c : Tensor = aten::sigmoid(%b)
  %d : Tensor = aten::add.Scalar(%c, %half, %two)
  %e : Tensor = aten::mul.Scalar(%d, %two)
  return (%e))";

TEST(SignaturePlan, is_made_at_second_sight_and_used_from_the_third_run) {
  Both both(kChain);
  const Arguments arguments{at::randn({4, 5}), at::randn({5})};
  EXPECT_EQ(both.run(arguments), 0);
  EXPECT_TRUE(both.plans().empty());
  EXPECT_EQ(both.run(arguments), 0);
  ASSERT_EQ(both.plans().size(), 1u);
  EXPECT_EQ(both.run(arguments), 1);
  EXPECT_EQ(both.run({at::randn({4, 5}), at::randn({5})}), 1);
}

TEST(SignaturePlan, joins_a_chain_into_one_step) {
  Both both(kChain);
  both.run_often({at::randn({4, 5}), at::randn({4, 5})});
  ASSERT_EQ(both.plans().size(), 1u);
  EXPECT_EQ(both.plans()[0]->bound_count, 5);
  EXPECT_TRUE(both.plans()[0]->only_kernels);
  EXPECT_EQ(both.plans()[0]->workspace_bytes, 0);
}

// Products do not take pointwise work other than ReLU in, so what is between them lies in memory.
std::string between_products(const std::string& last) {
  return R"(graph(%x : Tensor, %w : Tensor):
    %1 : int = prim::Constant[value=1]()
    %none : str = prim::Constant[value="none"]()
    %a : Tensor = aten::mm(%x, %w)
    %b : Tensor = aten::gelu(%a, %none)
    %c : Tensor = aten::mm(%b, %w))" +
         last;
}

TEST(SignaturePlan, a_pointwise_step_writes_where_it_read_what_nobody_reads_again) {
  const at::Tensor x = at::randn({32, 64}), w = at::randn({64, 64}) / 8;
  const int64_t bytes = static_cast<int64_t>(x.nbytes());
  Both alone(between_products("\n    return (%c)"));
  alone.run_often({x, w});
  EXPECT_EQ(alone.plans().at(0)->workspace_bytes, bytes);
  Both read_again(between_products(R"(
    %d : Tensor = aten::mm(%a, %w)
    %e : Tensor[] = prim::ListConstruct(%c, %d)
    return (%e))"));
  read_again.run_often({x, w});
  EXPECT_EQ(read_again.plans().at(0)->workspace_bytes, 2 * bytes);
}

TEST(SignaturePlan, does_not_exist_unless_asked_for) {
  EXPECT_EQ(Side(kChain, false, {}).method().signatures(), nullptr);
}

struct Inputs {
  const char* name;
  at::Tensor x, y;
};

void PrintTo(const Inputs& inputs, std::ostream* out) { *out << inputs.name; }

std::vector<Inputs> all_inputs() {
  return {{"same", at::randn({4, 5}), at::randn({4, 5})},
          {"row", at::randn({4, 5}), at::randn({5})},
          {"column", at::randn({4, 5}), at::randn({4, 1})},
          {"outer_product", at::randn({4, 1}), at::randn({1, 5})},
          {"grows", at::randn({5}), at::randn({4, 5})},
          {"number", at::randn({4, 5}), at::randn({})},
          {"both_numbers", at::randn({}), at::randn({})},
          {"three_loops", at::randn({2, 3, 4}), at::randn({2, 1, 4})},
          {"other_row", at::randn({7, 3}), at::randn({3})},
          {"empty", at::randn({0, 5}), at::randn({5})},
          {"large", at::randn({200, 200}), at::randn({200})},
          {"transposed", at::randn({5, 4}).t(), at::randn({4, 5})},
          {"every_second", at::randn({4, 10}).slice(1, 0, 10, 2), at::randn({4, 5})},
          {"from_the_middle", at::randn({8, 5}).slice(0, 2, 6), at::randn({4, 5})},
          {"double", at::randn({4, 5}, at::kDouble), at::randn({4, 5}, at::kDouble)},
          {"double_meets_float", at::randn({4, 5}), at::randn({4, 5}, at::kDouble)},
          {"int", at::ones({4, 5}, at::kLong), at::full({4, 5}, 3, at::kLong)},
          {"int_meets_float", at::ones({4, 5}, at::kLong), at::randn({4, 5})},
          {"half", at::randn({4, 5}).to(at::kHalf), at::randn({4, 5}).to(at::kHalf)}};
}

class SignaturePlanOf : public testing::TestWithParam<Inputs> {};

TEST_P(SignaturePlanOf, a_chain_is_one_kernel) { EXPECT_EQ(Both(kChain).run_often({GetParam().x, GetParam().y}), 1); }

INSTANTIATE_TEST_SUITE_P(Inputs, SignaturePlanOf, testing::ValuesIn(all_inputs()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SignaturePlan, signatures_alternate_in_one_runtime) {
  Both both(kChain);
  for (int round = 0; round < 5; ++round) {
    for (const Inputs& inputs : all_inputs()) {
      const int bound = both.run({inputs.x, inputs.y});
      if (round < 2) continue;
      EXPECT_EQ(bound, 1) << inputs.name;
    }
  }
}

TEST(SignaturePlan, old_signatures_leave_the_cache) {
  Both both(kChain);
  // Often enough for a plan when what has been paid for is used up.
  const auto come_to_stay = [&](int64_t n) {
    int count = 0;
    for (int i = 0; i < 14; ++i) count = both.run_often({at::randn({n}), at::randn({n})});
    return count;
  };
  for (int64_t n = 1; n <= 70; ++n) come_to_stay(n);
  EXPECT_EQ(both.plans().size(), 64u);
  EXPECT_EQ(come_to_stay(1), 1);
}

// As traces write down Python's numbers.
TEST(SignaturePlan, constants_of_one_element_are_numbers) {
  for (const at::Tensor& number : {at::scalar_tensor(0.1, at::kDouble), at::scalar_tensor(3, at::kLong),
                                   at::scalar_tensor(0.1f), at::full({1}, 0.7, at::kDouble)}) {
    Both both(R"(graph(%x : Tensor):
      %c : Tensor = stator::LoadState[slot=0]()
      %one : int = prim::Constant[value=1]()
      %y : Tensor = aten::mul.Tensor(%x, %c)
      %z : Tensor = aten::add.Tensor(%c, %y, %one)
      return (%z))",
              {number});
    for (const at::Tensor& x : {at::randn({700}), at::randn({3, 5}, at::kDouble), at::arange(9), at::randn({})})
      EXPECT_EQ(both.run_often({x}), 1) << x.scalar_type() << number.scalar_type();
    for (const auto& plan : both.plans()) {
      const bool is_float = plan->result_meta().dtype == at::kFloat && plan->result_meta().numel() == 700;
      if (is_float && number.scalar_type() != at::kLong) {
        EXPECT_EQ(1u, plan->steps[0].reads.size());
      }
    }
  }
}

TEST(SignaturePlan, sizes_that_are_read_from_tensors_are_read_anew) {
  Both both(R"(graph(%x : Tensor):
    %two : int = prim::Constant[value=2]()
    %none : NoneType = prim::Constant[value=None]()
    %n : int = aten::Int.Tensor(%x)
    %size : int[] = prim::ListConstruct(%n, %two)
    %z : Tensor = aten::zeros(%size, %none, %none, %none, %none)
    return (%z))");
  for (int64_t n : {3, 3, 3, 5, 2, 3}) both.run({at::scalar_tensor(n, at::kLong)});
}

TEST(SignaturePlan, bad_shapes_raise_as_ever) {
  Both both(kChain);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THROW(both.run({at::randn({4}), at::randn({5})}), Error);
    both.run({at::randn({4}), at::randn({4})});
  }
}

TEST(SignaturePlan, branches_join_bound_and_dynamic_values) {
  Both both(R"(graph(%x : Tensor, %c : bool):
    %one : int = prim::Constant[value=1]()
    %a : Tensor = aten::mul.Tensor(%x, %x)
    %b : Tensor = prim::If(%c)
      block0():
        %p : Tensor = aten::sigmoid(%a)
        -> (%p)
      block1():
        %q : Tensor = aten::neg(%a)
        %r : Tensor = aten::add.Tensor(%q, %x, %one)
        -> (%r)
    %d : Tensor = aten::add.Tensor(%b, %a, %one)
    return (%d))");
  EXPECT_EQ(both.run_often({at::randn({3, 4}), true}), 1);
  EXPECT_EQ(both.run_often({at::randn({3, 4}), false}), 1);
  EXPECT_EQ(both.run_often({at::randn({9}), false}), 1);
  EXPECT_EQ(both.run_often({at::randn({3, 4}), true}), 1);
}

// The branch is chosen by what is in a tensor, so the signature does not know it.
TEST(SignaturePlan, a_branch_that_was_not_seen_runs_dynamic) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %zero : int = prim::Constant[value=0]()
    %none : NoneType = prim::Constant[value=None]()
    %s : Tensor = aten::sum(%x, %none)
    %t : Tensor = aten::gt.Scalar(%s, %zero)
    %c : bool = aten::Bool.Tensor(%t)
    %b : Tensor = prim::If(%c)
      block0():
        %n : Tensor = aten::neg(%x)
        %p : Tensor = aten::sigmoid(%n)
        -> (%p)
      block1():
        %m : Tensor = aten::abs(%x)
        %q : Tensor = aten::mul.Tensor(%m, %m)
        -> (%q)
    %d : Tensor = aten::add.Tensor(%b, %x, %one)
    return (%d))");
  EXPECT_EQ(both.run_often({at::ones({3, 4})}), 3);
  EXPECT_EQ(both.run({-at::ones({3, 4})}), 2);
  EXPECT_EQ(both.run({at::ones({3, 4})}), 3);
}

TEST(SignaturePlan, a_branch_that_was_not_seen_is_bound_if_its_inputs_are_known) {
  Both both(R"(graph(%x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %none : NoneType = prim::Constant[value=None]()
    %s : Tensor = aten::sum(%x, %none)
    %t : Tensor = aten::gt.Scalar(%s, %zero)
    %c : bool = aten::Bool.Tensor(%t)
    %b : Tensor = prim::If(%c)
      block0():
        -> (%x)
      block1():
        %p : Tensor = aten::mul.Tensor(%x, %x)
        %q : Tensor = aten::sigmoid(%p)
        -> (%q)
    %d : Tensor = aten::mul.Tensor(%b, %x)
    return (%d))");
  EXPECT_EQ(both.run_often({at::ones({300, 4})}), 3);
  EXPECT_EQ(both.run({-at::ones({300, 4})}), 2);
}

TEST(SignaturePlan, loops_carry_values_through_bound_calls) {
  Both both(R"(graph(%x : Tensor, %n : int):
    %one : int = prim::Constant[value=1]()
    %true : bool = prim::Constant[value=True]()
    %w : Tensor = aten::sigmoid(%x)
    %r : Tensor = prim::Loop(%n, %true, %x)
      block0(%i : int, %v : Tensor):
        %a : Tensor = aten::mul.Tensor(%v, %w)
        %b : Tensor = aten::add.Tensor(%a, %x, %one)
        -> (%true, %b)
    %z : Tensor = aten::mul.Tensor(%r, %r)
    return (%z))");
  EXPECT_EQ(both.run_often({at::randn({6}), 3}), 1);
  both.run_often({at::randn({6}), 0});
  both.run_often({at::randn({2, 6}), 5});
  EXPECT_EQ(both.run_often({at::randn({6}), 3}), 1);
}

TEST(SignaturePlan, a_shape_that_changes_from_iteration_to_iteration_leaves_the_plan) {
  Both both(R"(graph(%x : Tensor, %n : int):
    %zero : int = prim::Constant[value=0]()
    %true : bool = prim::Constant[value=True]()
    %r : Tensor = prim::Loop(%n, %true, %x)
      block0(%i : int, %v : Tensor):
        %a : Tensor = aten::sigmoid(%v)
        %l : Tensor[] = prim::ListConstruct(%a, %v)
        %b : Tensor = aten::cat(%l, %zero)
        -> (%true, %b)
    return (%r))");
  for (int64_t n = 0; n < 4; ++n) both.run_often({at::randn({2, 3}), n});
}

TEST(SignaturePlan, in_place_operators_and_views_see_bound_results) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %minus : int = prim::Constant[value=-1]()
    %a : Tensor = aten::mul.Tensor(%x, %x)
    %shape : int[] = prim::ListConstruct(%minus)
    %v : Tensor = aten::view(%a, %shape)
    %w : Tensor = aten::add_.Scalar(%v, %one, %one)
    %b : Tensor = aten::sigmoid(%a)
    %d : Tensor = aten::mul.Tensor(%w, %v)
    %e : Tensor = aten::add_.Tensor(%a, %b, %one)
    %f : Tensor = aten::add.Tensor(%a, %e, %one)
    %r : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%f, %d, %a)
    return (%r))");
  EXPECT_EQ(both.run_often({at::randn({3, 4})}), 4);
  EXPECT_EQ(both.run_often({at::randn({2})}), 1);
}

TEST(SignaturePlan, a_bound_result_that_an_operator_reshapes_is_read_as_it_is) {
  Both both(R"(graph(%x : Tensor, %n : int):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %none : NoneType = prim::Constant[value=None]()
    %a : Tensor = aten::mul.Tensor(%x, %x)
    %shape : int[] = prim::ListConstruct(%n)
    %b : Tensor = aten::resize_(%a, %shape, %none)
    %c : Tensor = aten::zero_(%a)
    %d : Tensor = aten::unsqueeze_(%a, %zero)
    %e : Tensor = aten::add.Tensor(%a, %x, %one)
    return (%e))");
  for (int64_t n : {6, 1, 6}) EXPECT_GE(both.run_often({at::randn({6}), n}), 1);
}

// What is written afterwards is the copy, or x itself where the reshape is a view.
TEST(SignaturePlan, a_reshape_is_a_view_or_a_copy_as_strides_have_it) {
  Both both(R"(graph(%x : Tensor, %n : int):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %minus : int = prim::Constant[value=-1]()
    %shape : int[] = prim::ListConstruct(%minus)
    %y : Tensor = aten::mul.Tensor(%x, %x)
    %t : Tensor = aten::transpose.int(%y, %zero, %n)
    %r : Tensor = aten::reshape(%t, %shape)
    %w : Tensor = aten::relu_(%r)
    %s : Tensor = aten::sin_(%r)
    %e : Tensor = aten::add.Scalar(%y, %one, %one)
    %f : Tensor = aten::reshape(%t, %shape)
    %out : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%r, %e, %f)
    return (%out))");
  for (int64_t n : {0, 1, 2, 1, 0}) EXPECT_GE(both.run_often({at::randn({2, 3, 4}), n}), 2);
}

TEST(SignaturePlan, a_reshape_that_copies_allocates_nothing) {
  Both both(R"(graph(%x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %minus : int = prim::Constant[value=-1]()
    %shape : int[] = prim::ListConstruct(%minus)
    %y : Tensor = aten::mul.Tensor(%x, %x)
    %t : Tensor = aten::transpose.int(%y, %zero, %one)
    %r : Tensor = aten::reshape(%t, %shape)
    return (%r))");
  EXPECT_GE(both.run_often({at::randn({3, 4})}), 1);
  ASSERT_EQ(both.plans().size(), 1u);
  EXPECT_TRUE(both.plans()[0]->only_kernels);
}

// The memory of x must not be taken for something else while the view of it is read.
TEST(SignaturePlan, what_may_be_a_view_of_an_argument_keeps_its_memory) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %none : NoneType = prim::Constant[value=None]()
    %turn : str = prim::Constant[value="ij->ji"]()
    %y : Tensor = aten::mul.Tensor(%x, %x)
    %l : Tensor[] = prim::ListConstruct(%y)
    %v : Tensor = aten::einsum(%turn, %l, %none)
    %a : Tensor = aten::sigmoid(%x)
    %b : Tensor = aten::softmax.int(%a, %one, %none)
    %c : Tensor = aten::softmax.int(%b, %one, %none)
    %d : Tensor = aten::matmul(%c, %v)
    return (%d))");
  EXPECT_GE(both.run_often({at::randn({8, 8})}), 3);
}

TEST(SignaturePlan, bound_results_are_returned_in_containers_twice_and_as_views) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %a : Tensor = aten::mul.Tensor(%x, %x)
    %b : Tensor = aten::sigmoid(%a)
    %t : Tensor = aten::t(%b)
    %c : Tensor = aten::add.Tensor(%a, %b, %one)
    %l : Tensor[] = prim::ListConstruct(%c, %a)
    %r : Tuple[Tensor, Tensor, Tensor, Tensor[]] = prim::TupleConstruct(%a, %a, %t, %l)
    return (%r))");
  EXPECT_EQ(both.run_often({at::randn({3, 4})}), 1);
}

TEST(SignaturePlan, results_stay_while_their_arena_does) {
  Both both(kChain);
  const Arguments arguments{at::randn({4, 5}), at::randn({5})};
  both.run_often(arguments);
  Arena held(both.bound.module);
  both.bound.runtime.call(both.bound.method(), arguments, {}, held);
  const at::Tensor copy = held.result().toTensor().clone();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(both.run({at::randn({4, 5}), at::randn({5})}), 1);
  EXPECT_TRUE(at::equal(copy, held.result().toTensor()));
}

// %a is read by bound calls only, until the run leaves the plan.
constexpr std::string_view kSelects = R"(graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul.Tensor(%x, %x)
  %mask : Tensor = aten::gt.Scalar(%x, %zero)
  %m : Tensor = aten::masked_select(%x, %mask)
  %p : Tensor = aten::sigmoid(%m)
  %q : Tensor = aten::mul.Tensor(%p, %m)
  %b : Tensor = aten::add.Tensor(%a, %x, %one)
  %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%q, %b)
  return (%r))";

TEST(SignaturePlan, a_shape_that_depends_on_data_leaves_the_plan_where_it_differs) {
  Both both(kSelects);
  const at::Tensor three = at::tensor({1.0f, -1.0f, 2.0f, 3.0f}), one = at::tensor({-5.0f, -1.0f, 2.0f, -3.0f});
  EXPECT_EQ(both.run_often({three}), 3);
  both.run({at::randn({6})});  // leaves tensors of another shape in the slots
  EXPECT_EQ(both.run({one}), 2);
  EXPECT_EQ(both.run({-three.abs()}), 2);
  EXPECT_EQ(both.run({three}), 3);
}

TEST(SignaturePlan, nonzero_is_a_hypothesis_too) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %i : Tensor = aten::nonzero(%x)
    %f : Tensor = aten::mul.Tensor(%x, %x)
    %six : int = prim::Constant[value=6]()
    %false : bool = prim::Constant[value=False]()
    %none : NoneType = prim::Constant[value=None]()
    %g : Tensor = aten::to.dtype(%i, %six, %false, %false, %none)
    %minus : int = prim::Constant[value=-1]()
    %shape : int[] = prim::ListConstruct(%minus)
    %v : Tensor = aten::view(%g, %shape)
    %h : Tensor = aten::add.Scalar(%v, %one, %one)
    %s : Tensor = aten::sigmoid(%v)
    %r : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%f, %h, %s)
    return (%r))");
  EXPECT_EQ(both.run_often({at::tensor({1.0f, 0.0f, 2.0f})}), 4);
  EXPECT_EQ(both.run({at::tensor({1.0f, 4.0f, 2.0f})}), 0);
  EXPECT_EQ(both.run({at::tensor({1.0f, 0.0f, 2.0f})}), 4);
}

TEST(SignaturePlan, inputs_that_the_method_writes_are_written) {
  Both both(R"(graph(%x : Tensor, %y : Tensor):
    %one : int = prim::Constant[value=1]()
    %a : Tensor = aten::mul.Tensor(%x, %y)
    %b : Tensor = aten::add_.Tensor(%x, %a, %one)
    %c : Tensor = aten::sigmoid(%x)
    %d : Tensor = aten::mul.Tensor(%b, %c)
    return (%d))");
  EXPECT_EQ(both.run_often({at::randn({4}), at::randn({4})}), 2);
}

TEST(SignaturePlan, an_input_that_an_operator_reshapes_is_read_as_it_is) {
  Both both(R"(graph(%x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %a : Tensor = aten::unsqueeze_(%x, %zero)
    %b : Tensor = aten::sigmoid(%x)
    return (%b))");
  both.run_often({at::randn({4})});
}

TEST(SignaturePlan, a_tensor_under_two_names_stays_one_tensor_when_a_run_leaves) {
  Both both(R"(graph(%x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %minus : int = prim::Constant[value=-1]()
    %one : int = prim::Constant[value=1]()
    %a : Tensor = aten::sigmoid(%x)
    %b : Tensor = aten::flatten.using_ints(%a, %zero, %minus)
    %c : Tensor = aten::unsqueeze_(%b, %zero)
    %d : Tensor = aten::add.Tensor(%a, %x, %one)
    %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%d, %a)
    return (%r))");
  both.run_often({at::randn({4})});
}

TEST(SignaturePlan, a_transposed_copy_of_a_copy) {
  Both both(R"(graph(%x : Tensor):
    %none : NoneType = prim::Constant[value=None]()
    %a : Tensor = aten::clone(%x, %none)
    %t : Tensor = aten::numpy_T(%a)
    %b : Tensor = aten::clone(%t, %none)
    %c : Tensor = aten::clone(%x, %none)
    %r : Tuple[Tensor, Tensor] = prim::TupleConstruct(%b, %c)
    return (%r))");
  both.run_often({at::randn({30, 40}, at::kDouble)});
  both.run_often({at::randn({30, 40}).t()});
}

TEST(SignaturePlan, indices_of_any_strides_pick) {
  Both both(R"(graph(%table : Tensor, %ids : Tensor):
    %zero : int = prim::Constant[value=0]()
    %one : int = prim::Constant[value=1]()
    %minus : int = prim::Constant[value=-1]()
    %false : bool = prim::Constant[value=False]()
    %i : Tensor = aten::select.int(%ids, %one, %one)
    %a : Tensor = aten::embedding(%table, %i, %minus, %false, %false)
    %b : Tensor = aten::index_select(%table, %zero, %i)
    %t : Tensor = aten::t(%ids)
    %c : Tensor = aten::embedding(%table, %t, %minus, %false, %false)
    %r : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%a, %b, %c)
    return (%r))");
  EXPECT_EQ(both.run_often({at::randn({9, 4}), at::randint(0, 9, {5, 3}, at::kLong)}), 6);
  EXPECT_EQ(both.run_often({at::randn({9, 4}), at::randint(0, 9, {5, 3}, at::kInt)}), 6);
}

TEST(SignaturePlan, more_dimensions_than_kernels_walk_are_left_to_libtorch) {
  Both both(R"(graph(%x : Tensor, %y : Tensor):
    %one : int = prim::Constant[value=1]()
    %zero : int = prim::Constant[value=0]()
    %a : Tensor = aten::add.Tensor(%x, %y, %one)
    %b : Tensor = aten::contiguous(%x, %zero)
    %c : Tensor = aten::mul.Tensor(%a, %b)
    return (%c))");
  const at::Tensor x = at::randn({3, 3, 3, 3, 3, 3, 3, 3}).permute({7, 5, 3, 1, 6, 4, 2, 0});
  both.run_often({x, at::randn({3, 1, 3, 1, 3, 1, 3, 1})});
}

TEST(SignaturePlan, state_is_read_anew_and_its_shape_is_part_of_the_signature) {
  Both both(R"(graph(%x : Tensor):
    %zero : int = prim::Constant[value=0]()
    %s : Tensor = stator::LoadState[slot=0]()
    %h : Tensor = aten::mul.Tensor(%s, %x)
    %l : Tensor[] = prim::ListConstruct(%s, %x)
    %g : Tensor = aten::cat(%l, %zero)
    stator::StoreState[slot=0](%g)
    return (%h))",
            {at::ones({1})});
  int bound = 0;
  for (int i = 0; i < 12; ++i) bound = both.run({at::full({1}, 0.1f * i)});
  EXPECT_EQ(bound, 0) << "the state grows, so no signature is seen twice";
}

TEST(SignaturePlan, state_of_one_shape_is_bound) {
  Both both(R"(graph(%x : Tensor):
    %one : int = prim::Constant[value=1]()
    %s : Tensor = stator::LoadState[slot=0]()
    %h : Tensor = aten::mul.Tensor(%s, %x)
    %e : Tensor = aten::add.Tensor(%h, %s, %one)
    %f : Tensor = aten::neg(%e)
    stator::StoreState[slot=0](%f)
    return (%e))",
            {at::ones({3})});
  EXPECT_EQ(both.run_often({at::randn({3})}), 1);
  EXPECT_EQ(both.run({at::randn({3})}), 1);
}

TEST(SignaturePlan, results_go_to_memory_that_the_caller_bound) {
  Both both(kChain);
  const at::Tensor x = at::randn({4, 5}), y = at::randn({5});
  both.run_often({x, y});
  Side& side = both.bound;
  const at::Tensor memory = at::zeros({4, 5}), wide = at::zeros({20}), small = wide.slice(0, 0, 2);
  side.runtime.bind(side.method(), 0, x);
  side.runtime.bind(side.method(), 1, y);
  side.runtime.bind_output(side.method(), 0, memory);
  side.runtime.run(side.method(), side.arena);
  test::expect_same(both.dynamic.run({x, y}), memory, "bound memory");
  side.runtime.bind_output(side.method(), 0, small);
  EXPECT_THROW(side.runtime.run(side.method(), side.arena), Error);
  EXPECT_TRUE(at::equal(wide, at::zeros({20}))) << "wrote behind the memory";
  side.runtime.unbind(nullptr);
  EXPECT_EQ(both.run({x, y}), 1);
}

TEST(SignaturePlanThreads, share_one_cache) {
  auto module = test::make_module(kSelects, {.signature_plans = true});
  const StaticMethod& method = *module->methods()[0];
  const auto work = [&](int64_t seed) {
    StaticRuntime runtime(module, {.intra_op_threads = 1, .state = StateSharing::kPrivate});
    Arena arena(module);
    for (int64_t i = 0; i < 300; ++i) {
      const at::Tensor x = at::arange(1, 5 + (i * seed) % 7, at::kFloat) - static_cast<float>(i % 3);
      runtime.call(method, {x}, {}, arena);
      ASSERT_TRUE(at::equal(arena.outputs()[1], x * x + x));
    }
  };
  std::vector<std::thread> threads;
  for (int64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(method.signatures()->plans().size(), 7u);
}

}  // namespace
}  // namespace stator
