// Each pass on graphs written as text: what it does, and above all what it must leave alone.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <chrono>

#include "graph/error.h"
#include "graph/graph.h"
#include "graph/parser.h"
#include "graph/printer.h"
#include "graph/verifier.h"
#include "passes/dead_code.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/forward_tuples.h"
#include "passes/pipeline.h"
#include "passes/size_tensors.h"
#include "passes/variadic.h"

namespace stator {
namespace {

using PassFunction = bool (*)(Graph&);

size_t count(const Graph& graph, std::string_view name) {
  size_t found = 0;
  for_each_node(graph.root(), [&](const Node* node) { found += node->display_name() == name; });
  return found;
}

size_t node_count(const Graph& graph) {
  size_t found = 0;
  for_each_node(graph.root(), [&](const Node* node) { found += node->opcode != Opcode::kConstant; });
  return found;
}

struct Ran {
  std::unique_ptr<Graph> graph;
  bool changed;
};

Ran ran(PassFunction pass, std::string_view text, const std::vector<at::Tensor>& constants = {}) {
  auto graph = parse_graph(text, constants);
  verify(*graph);
  bool changed = pass(*graph);
  verify(*graph);
  return {std::move(graph), changed};
}

void expect_untouched(PassFunction pass, std::string_view text, const std::vector<at::Tensor>& constants = {}) {
  auto before = print(*parse_graph(text, constants));
  auto [graph, changed] = ran(pass, text, constants);
  EXPECT_FALSE(changed);
  EXPECT_EQ(print(*graph), before);
}

const c10::IValue& constant_output(const Graph& graph, size_t i = 0) {
  static const c10::IValue missing("not a constant");
  const c10::IValue* value = constant_of(graph.outputs().at(i));
  EXPECT_NE(value, nullptr) << print(graph);
  return value ? *value : missing;
}

// dead_code -----------------------------------------------------------------------------------------------------------

struct Row {
  const char* name;
  const char* text;
};

std::string row_name(const testing::TestParamInfo<Row>& info) { return info.param.name; }

class Dead : public testing::TestWithParam<Row> {};

TEST_P(Dead, all_nodes_go) {
  auto [graph, changed] = ran(dead_code, GetParam().text);
  EXPECT_TRUE(changed);
  EXPECT_EQ(node_count(*graph), 0u) << print(*graph);
  EXPECT_FALSE(dead_code(*graph));
}

INSTANTIATE_TEST_SUITE_P(DeadCode, Dead,
                         testing::ValuesIn(std::vector<Row>{
                             {"chain", R"(graph(%x : Tensor):
      %a : Tensor = aten::relu(%x)
      %b : Tensor = aten::relu(%a)
      return (%x))"},
                             {"write_to_memory_that_nobody_reads", R"(graph(%x : Tensor):
      %1 : int = prim::Constant[value=1]()
      %a : Tensor = aten::relu(%x)
      %b : Tensor = aten::add_.Tensor(%a, %x, %1)
      return (%x))"},
                             {"list_that_nobody_reads", R"(graph(%x : Tensor):
      %l : Tensor[] = prim::ListConstruct()
      %m : Tensor[] = aten::append.t(%l, %x)
      return (%x))"},
                             {"object_that_nobody_reads", R"(graph(%x : Tensor):
      %o : Any = prim::CreateObject()
      prim::SetAttr[name="a"](%o, %x)
      return (%x))"},
                             {"branch", R"(graph(%x : Tensor, %c : bool):
      %y : Tensor = prim::If(%c)
        block0():
          %a : Tensor = aten::relu(%x)
          -> (%a)
        block1():
          -> (%x)
      return (%x))"},
                             {"counted_loop", R"(graph(%x : Tensor, %n : int):
      %true : bool = prim::Constant[value=True]()
      %y : Tensor = prim::Loop(%n, %true, %x)
        block0(%i : int, %k : Tensor):
          %a : Tensor = aten::relu(%k)
          -> (%true, %a)
      return (%x))"},
                             {"dropout_that_drops_nothing", R"(graph(%x : Tensor):
      %p : float = prim::Constant[value=0.5]()
      %false : bool = prim::Constant[value=False]()
      %a : Tensor = aten::dropout(%x, %p, %false)
      return (%x))"},
                             {"unpack_that_could_raise", R"(graph(%l : int[]):
      %a : int, %b : int = prim::ListUnpack(%l)
      return (%l))"},
                         }),
                         row_name);

class Alive : public testing::TestWithParam<Row> {};

TEST_P(Alive, nothing_goes) { expect_untouched(dead_code, GetParam().text); }

INSTANTIATE_TEST_SUITE_P(DeadCode, Alive,
                         testing::ValuesIn(std::vector<Row>{
                             {"write_through_a_view_of_a_result", R"(graph(%x : Tensor):
      %0 : int = prim::Constant[value=0]()
      %a : Tensor = aten::relu(%x)
      %v : Tensor = aten::select.int(%a, %0, %0)
      %w : Tensor = aten::zero_(%v)
      return (%a))"},
                             {"write_to_an_input", R"(graph(%x : Tensor):
      %w : Tensor = aten::zero_(%x)
      return ())"},
                             {"write_to_an_element_of_a_returned_list", R"(graph(%x : Tensor):
      %a : Tensor = aten::relu(%x)
      %l : Tensor[] = prim::ListConstruct(%a)
      %w : Tensor = aten::zero_(%a)
      return (%l))"},
                             {"write_through_an_element", R"(graph(%x : Tensor):
      %0 : int = prim::Constant[value=0]()
      %a : Tensor = aten::relu(%x)
      %l : Tensor[] = prim::ListConstruct(%a)
      %e : Tensor = aten::__getitem__.t(%l, %0)
      %w : Tensor = aten::zero_(%e)
      return (%a))"},
                             {"append_to_a_list_read_later", R"(graph(%x : Tensor):
      %l : Tensor[] = prim::ListConstruct()
      %m : Tensor[] = aten::append.t(%l, %x)
      %n : int = aten::len.t(%l)
      return (%n))"},
                             {"write_in_a_block_to_captured_memory", R"(graph(%x : Tensor, %c : bool):
      %a : Tensor = aten::relu(%x)
      prim::If(%c)
        block0():
          %w : Tensor = aten::zero_(%a)
          -> ()
        block1():
          -> ()
      return (%a))"},
                             {"write_to_a_loop_carried_value", R"(graph(%x : Tensor, %n : int):
      %true : bool = prim::Constant[value=True]()
      %a : Tensor = aten::relu(%x)
      %y : Tensor = prim::Loop(%n, %true, %a)
        block0(%i : int, %k : Tensor):
          %w : Tensor = aten::zero_(%k)
          -> (%true, %k)
      return (%y))"},
                             {"write_to_state", R"(graph():
      %s : Tensor = stator::LoadState[slot=0]()
      %w : Tensor = aten::zero_(%s)
      return ())"},
                             {"store_to_state", R"(graph(%x : Tensor):
      %a : Tensor = aten::relu(%x)
      stator::StoreState[slot=0](%a)
      return ())"},
                             {"attribute_of_a_read_object", R"(graph(%x : Tensor):
      %o : Any = prim::CreateObject()
      prim::SetAttr[name="a"](%o, %x)
      %y : Tensor = prim::GetAttr[name="a"](%o)
      return (%y))"},
                             {"unknown_method", R"(graph(%o : Any):
      %y : Tensor = prim::CallMethod[name="f"](%o)
      return ())"},
                             {"raise_in_a_branch", R"(graph(%c : bool):
      %m : str = prim::Constant[value="no"]()
      prim::If(%c)
        block0():
          prim::RaiseException(%m)
          -> ()
        block1():
          -> ()
      return ())"},
                             {"random_number_that_moves_the_generator_on", R"(graph(%x : Tensor):
      %none : None = prim::Constant[value=None]()
      %a : Tensor = aten::bernoulli(%x, %none)
      return ())"},
                             {"dropout_in_training", R"(graph(%x : Tensor, %train : bool):
      %p : float = prim::Constant[value=0.5]()
      %a : Tensor = aten::dropout(%x, %p, %train)
      return ())"},
                             {"warning", R"(graph():
      %m : str = prim::Constant[value="careful"]()
      %n : int = prim::Constant[value=2]()
      aten::warn(%m, %n)
      return ())"},
                             {"while_loop", R"(graph(%x : Tensor):
      %n : int = prim::Constant[value=9223372036854775807]()
      %true : bool = prim::Constant[value=True]()
      prim::Loop(%n, %true)
        block0(%i : int):
          %c : bool = aten::is_nonzero(%x)
          -> (%c)
      return ())"},
                             {"batch_norm_in_training_changes_its_statistics",
                              R"(graph(%x : Tensor, %m : Tensor, %v : Tensor):
      %none : None = prim::Constant[value=None]()
      %true : bool = prim::Constant[value=True]()
      %e : float = prim::Constant[value=0.001]()
      %y : Tensor = aten::batch_norm(%x, %none, %none, %m, %v, %true, %e, %e, %true)
      return ())"},
                         }),
                         row_name);

TEST(DeadCode, drops_outputs_of_branches_that_nobody_reads) {
  auto [graph, changed] = ran(dead_code, R"(graph(%x : Tensor, %c : bool):
    %a : Tensor, %b : Tensor = prim::If(%c)
      block0():
        %p : Tensor = aten::relu(%x)
        %q : Tensor = aten::neg(%x)
        -> (%p, %q)
      block1():
        -> (%x, %x)
    return (%b))");
  EXPECT_EQ(print(*graph), print(*parse_graph(R"(graph(%x : Tensor, %c : bool):
    %b : Tensor = prim::If(%c)
      block0():
        %q : Tensor = aten::neg(%x)
        -> (%q)
      block1():
        -> (%x)
    return (%b))")));
}

TEST(DeadCode, drops_carried_values_that_only_feed_themselves) {
  auto [graph, changed] = ran(dead_code, R"(graph(%x : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %a : Tensor, %b : Tensor, %d : Tensor = prim::Loop(%n, %true, %x, %x, %x)
      block0(%i : int, %p : Tensor, %q : Tensor, %r : Tensor):
        %s : Tensor = aten::relu(%r)
        %t : Tensor = aten::neg(%p)
        %u : Tensor = aten::abs(%q)
        -> (%true, %s, %u, %t)
    return (%b))");
  EXPECT_EQ(print(*graph), print(*parse_graph(R"(graph(%x : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %b : Tensor = prim::Loop(%n, %true, %x)
      block0(%i : int, %q : Tensor):
        %u : Tensor = aten::abs(%q)
        -> (%true, %u)
    return (%b))")));
}

TEST(DeadCode, keeps_carried_values_that_decide_when_the_loop_ends) {
  expect_untouched(dead_code, R"(graph(%x : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %a : int, %b : Tensor = prim::Loop(%n, %true, %n, %x)
      block0(%i : int, %p : int, %q : Tensor):
        %s : int = aten::mul.int(%p, %p)
        %go : bool = aten::lt.int(%s, %n)
        %u : Tensor = aten::abs(%q)
        -> (%go, %s, %u)
    return (%b))");
}

// fold_constants ------------------------------------------------------------------------------------------------------

TEST(FoldConstants, computes_scalars_strings_and_lists) {
  auto [graph, changed] = ran(fold_constants, R"(graph():
    %2 : int = prim::Constant[value=2]()
    %3 : int = prim::Constant[value=3]()
    %s : str = prim::Constant[value="{}-{}"]()
    %5 : int = aten::add.int(%2, %3)
    %l : int[] = prim::ListConstruct(%5, %2)
    %len : int = aten::len.t(%l)
    %n : int = prim::min.int(%len, %5)
    %f : str = aten::format(%s, %5, %n)
    %t : Tuple[int, str] = prim::TupleConstruct(%n, %f)
    return (%5, %l, %f, %t))");
  EXPECT_TRUE(changed);
  EXPECT_EQ(constant_output(*graph, 0).toInt(), 5);
  ASSERT_TRUE(constant_output(*graph, 1).isIntList());
  EXPECT_EQ(constant_output(*graph, 1).toIntVector(), (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(constant_output(*graph, 2).toStringRef(), "5-2");
  EXPECT_TRUE(constant_output(*graph, 3).isTuple());
  EXPECT_FALSE(fold_constants(*graph));
}

TEST(FoldConstants, agrees_with_libtorch_on_tensors) {
  at::Tensor a = at::arange(6, at::kFloat).reshape({2, 3}), b = at::full({3}, 0.5);
  auto [graph, changed] = ran(fold_constants, R"(graph():
    %a : Tensor = prim::Constant[tensor=0]()
    %b : Tensor = prim::Constant[tensor=1]()
    %1 : int = prim::Constant[value=1]()
    %c : Tensor = aten::add.Tensor(%a, %b, %1)
    %v : Tensor = aten::t(%c)
    %d : int[] = prim::ListConstruct(%1)
    %l : Tensor[] = prim::ListConstruct(%a, %c)
    %s : Tensor = aten::cat(%l, %1)
    %x : Tensor, %y : Tensor = aten::max.dim(%s, %1, %1)
    return (%v, %s, %y))",
                              {a, b});
  (void)changed;  // max.dim wants a bool: raises, and so stays
  EXPECT_TRUE(constant_output(*graph, 0).toTensor().equal((a + b).t()));
  EXPECT_TRUE(constant_output(*graph, 1).toTensor().equal(at::cat({a, a + b}, 1)));
  EXPECT_EQ(count(*graph, "aten::max.dim"), 1u);
}

TEST(FoldConstants, folds_nodes_with_several_outputs) {
  at::Tensor a = at::arange(6, at::kFloat).reshape({2, 3});
  auto [graph, changed] = ran(fold_constants, R"(graph():
    %a : Tensor = prim::Constant[tensor=0]()
    %1 : int = prim::Constant[value=1]()
    %false : bool = prim::Constant[value=False]()
    %x : Tensor, %y : Tensor = aten::max.dim(%a, %1, %false)
    %n : Tensor = aten::neg(%y)
    return (%x, %y, %n))",
                              {a});
  EXPECT_TRUE(constant_output(*graph, 0).toTensor().equal(std::get<0>(a.max(1))));
  EXPECT_TRUE(constant_output(*graph, 2).toTensor().equal(-std::get<1>(a.max(1))));
}

TEST(FoldConstants, folded_values_leave_loops) {
  auto [graph, changed] = ran(fold_constants, R"(graph(%x : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %y : Tensor = prim::Loop(%n, %true, %x)
      block0(%i : int, %k : Tensor):
        %2 : int = prim::Constant[value=2]()
        %3 : int = aten::add.int(%2, %2)
        %z : Tensor = aten::add.Tensor(%k, %k, %3)
        -> (%true, %z)
    return (%y))");
  EXPECT_TRUE(changed);
  Node* loop = graph->outputs()[0]->node;
  EXPECT_EQ(count(*graph, "aten::add.int"), 0u);
  EXPECT_EQ(loop->blocks[0]->nodes.back()->input(2)->node->owner, &graph->root());
}

TEST(FoldConstants, takes_the_branch_that_a_constant_decides) {
  auto [graph, changed] = ran(fold_constants, R"(graph(%x : Tensor):
    %2 : int = prim::Constant[value=2]()
    %c : bool = aten::gt.int(%2, %2)
    %y : Tensor = prim::If(%c)
      block0():
        %a : Tensor = aten::relu(%x)
        -> (%a)
      block1():
        %b : Tensor = aten::neg(%x)
        %d : bool = aten::eq.int(%2, %2)
        %e : Tensor = prim::If(%d)
          block0():
            %f : Tensor = aten::abs(%b)
            -> (%f)
          block1():
            -> (%b)
        -> (%e)
    return (%y))");
  dead_code(*graph);
  EXPECT_EQ(print(*graph),
            "graph(%x : Tensor):\n  %b : Tensor = aten::neg(%x)\n  %f : Tensor = aten::abs(%b)\n  return (%f)\n");
}

TEST(FoldConstants, skips_loops_that_never_run) {
  for (const char* start : {"%0, %true", "%n, %false"}) {
    auto [graph, changed] = ran(fold_constants, std::string(R"(graph(%x : Tensor, %n : int):
      %0 : int = prim::Constant[value=0]()
      %true : bool = prim::Constant[value=True]()
      %false : bool = prim::Constant[value=False]()
      %y : Tensor = prim::Loop()") + start + R"(, %x)
        block0(%i : int, %k : Tensor):
          %z : Tensor = aten::relu(%k)
          -> (%true, %z)
      return (%y))");
    EXPECT_TRUE(changed);
    EXPECT_EQ(graph->outputs()[0], graph->inputs()[0]);
  }
}

TEST(FoldConstants, values_that_a_loop_does_not_change_are_not_carried) {
  auto [graph, changed] = ran(fold_constants, R"(graph(%x : Tensor, %y : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %a : Tensor, %b : Tensor = prim::Loop(%n, %true, %x, %y)
      block0(%i : int, %p : Tensor, %q : Tensor):
        %r : Tensor = aten::mul.Tensor(%p, %q)
        -> (%true, %r, %q)
    return (%a, %b))");
  EXPECT_TRUE(changed);
  EXPECT_EQ(graph->outputs()[1], graph->inputs()[1]);
  EXPECT_FALSE(fold_constants(*graph));
  EXPECT_TRUE(dead_code(*graph));
  EXPECT_EQ(graph->outputs()[0]->node->outputs.size(), 1u);
}

TEST(FoldConstants, branches_that_agree_have_one_result) {
  auto [graph, changed] = ran(fold_constants, R"(graph(%x : Tensor, %c : bool):
    %a : Tensor, %b : int = prim::If(%c)
      block0():
        %3 : int = prim::Constant[value=3]()
        -> (%x, %3)
      block1():
        %4 : int = prim::Constant[value=3]()
        -> (%x, %4)
    return (%a, %b))");
  EXPECT_EQ(graph->outputs()[0], graph->inputs()[0]);
  EXPECT_EQ(constant_output(*graph, 1).toInt(), 3);
}

TEST(FoldConstants, isinstance_follows_from_exact_types) {
  auto [graph, changed] = ran(fold_constants, R"(graph(%x : Tensor, %o : Tensor?, %a : Any, %l : int[]):
    %1 : bool = prim::isinstance[types=(int, Tensor)](%x)
    %2 : bool = prim::isinstance[types=(int)](%x)
    %3 : bool = prim::isinstance[types=(Tensor)](%o)
    %4 : bool = prim::isinstance[types=(int)](%a)
    %5 : bool = prim::isinstance[types=(List[int])](%l)
    return (%1, %2, %3, %4, %5))");
  EXPECT_TRUE(constant_output(*graph, 0).toBool());
  EXPECT_FALSE(constant_output(*graph, 1).toBool());
  EXPECT_EQ(count(*graph, "prim::isinstance"), 2u);
  EXPECT_TRUE(constant_output(*graph, 4).toBool());
}

class NotFolded : public testing::TestWithParam<Row> {};

TEST_P(NotFolded, nothing_changes) { expect_untouched(fold_constants, GetParam().text, {at::ones({2, 2})}); }

INSTANTIATE_TEST_SUITE_P(FoldConstants, NotFolded,
                         testing::ValuesIn(std::vector<Row>{
                             {"a_written_buffer", R"(graph(%x : Tensor):
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %1 : int = prim::Constant[value=1]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      %w : Tensor = aten::add_.Tensor(%z, %x, %1)
      return (%w))"},
                             {"a_buffer_written_through_a_view", R"(graph(%x : Tensor):
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %0 : int = prim::Constant[value=0]()
      %false : bool = prim::Constant[value=False]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      %v : Tensor = aten::select.int(%z, %0, %0)
      %w : Tensor = aten::copy_(%v, %x, %false)
      return (%z))"},
                             {"a_constant_written_elsewhere", R"(graph(%x : Tensor):
      %c : Tensor = prim::Constant[tensor=0]()
      %d : Tensor = aten::neg(%c)
      %false : bool = prim::Constant[value=False]()
      %w : Tensor = aten::copy_(%c, %x, %false)
      return (%d))"},
                             {"a_list_that_is_appended_to", R"(graph():
      %1 : int = prim::Constant[value=1]()
      %l : int[] = prim::ListConstruct(%1)
      %m : int[] = aten::append.t(%l, %1)
      %n : int = aten::len.t(%l)
      return (%l, %n))"},
                             {"a_list_changed_in_a_loop", R"(graph(%n : int):
      %1 : int = prim::Constant[value=1]()
      %true : bool = prim::Constant[value=True]()
      %l : int[] = prim::ListConstruct()
      %k : int[] = prim::Loop(%n, %true, %l)
        block0(%i : int, %p : int[]):
          %m : int[] = aten::append.t(%p, %i)
          -> (%true, %m)
      return (%k))"},
                             {"a_list_whose_copy_by_slice_is_changed_but_which_is_changed_too", R"(graph(%x : Tensor):
      %n : None = prim::Constant[value=None]()
      %1 : int = prim::Constant[value=1]()
      %l : int[] = prim::ListConstruct(%1)
      %s : int[] = aten::slice.t(%l, %n, %n, %1)
      %m : int[] = aten::append.t(%s, %1)
      %k : int[] = aten::append.t(%l, %1)
      return (%s, %l))"},
                             {"a_tensor_that_goes_into_state", R"(graph():
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      stator::StoreState[slot=0](%z)
      return ())"},
                             {"a_tensor_that_goes_into_an_object", R"(graph(%o : Any):
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      prim::SetAttr[name="z"](%o, %z)
      return ())"},
                             {"a_tensor_put_into_a_list_of_the_caller", R"(graph(%l : Tensor[]):
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      %m : Tensor[] = aten::append.t(%l, %z)
      return ())"},
                             {"a_view_of_a_constant_that_goes_into_state", R"(graph():
      %c : Tensor = prim::Constant[tensor=0]()
      %v : Tensor = aten::t(%c)
      stator::StoreState[slot=0](%v)
      return ())"},
                             {"random_numbers", R"(graph():
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[2, 2]]()
      %z : Tensor = aten::rand(%s, %n, %n, %n, %n)
      return (%z))"},
                             {"what_raises", R"(graph():
      %c : Tensor = prim::Constant[tensor=0]()
      %3 : int = prim::Constant[value=3]()
      %0 : int = prim::Constant[value=0]()
      %a : Tensor = aten::select.int(%c, %3, %3)
      %b : int = aten::floordiv.int(%3, %0)
      return (%a, %b))"},
                             {"what_grows_by_more_than_16_megabytes", R"(graph():
      %n : None = prim::Constant[value=None]()
      %s : int[] = prim::Constant[value=[100000000, 100000000]]()
      %t : int[] = prim::Constant[value=[4096, 4096]]()
      %e : int = prim::Constant[value=1000000000000]()
      %c : Tensor = prim::Constant[tensor=0]()
      %z : Tensor = aten::zeros(%s, %n, %n, %n, %n)
      %a : Tensor = aten::arange(%e, %n, %n, %n, %n)
      %r : Tensor = aten::repeat(%c, %t)
      return (%z, %a, %r))"},
                             {"what_depends_on_the_input", R"(graph(%x : Tensor):
      %d : int = aten::dim(%x)
      %e : int = aten::mul.int(%d, %d)
      return (%e))"},
                             {"identity_of_tensors_that_are_compared", R"(graph():
      %n : None = prim::Constant[value=None]()
      %c : Tensor = prim::Constant[tensor=0]()
      %false : bool = prim::Constant[value=False]()
      %p : Tensor = aten::neg(%c)
      %q : Tensor = aten::neg(%c)
      %r : bool = aten::__is__(%p, %q)
      return (%r))"},
                         }),
                         row_name);

// Defect E of research/static_runtime_upstream.md, 4.2.
TEST(Pipeline, a_slice_of_a_whole_list_is_a_copy) {
  auto [graph, changed] = ran(
      [](Graph& g) {
        optimize(g);
        return true;
      },
      R"(graph(%a : Tensor[], %t : Tensor):
    %n : None = prim::Constant[value=None]()
    %0 : int = prim::Constant[value=0]()
    %1 : int = prim::Constant[value=1]()
    %b : Tensor[] = aten::slice.t(%a, %0, %n, %1)
    %m : Tensor[] = aten::append.t(%b, %t)
    return (%a, %b))");
  EXPECT_EQ(count(*graph, "aten::slice.t"), 1u);
  EXPECT_EQ(count(*graph, "aten::append.t"), 1u);
  EXPECT_NE(graph->outputs()[0], graph->outputs()[1]);
}

TEST(Pipeline, a_slice_of_a_constant_list_is_a_copy_too) {
  auto [graph, changed] = ran(
      [](Graph& g) {
        optimize(g);
        return true;
      },
      R"(graph():
    %n : None = prim::Constant[value=None]()
    %1 : int = prim::Constant[value=1]()
    %a : int[] = prim::ListConstruct(%1, %1)
    %b : int[] = aten::slice.t(%a, %n, %n, %1)
    %m : int[] = aten::append.t(%b, %1)
    return (%a, %b))");
  EXPECT_EQ(constant_output(*graph, 0).toIntVector(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(count(*graph, "aten::slice.t"), 1u);
}

// forward_tuples ------------------------------------------------------------------------------------------------------

TEST(ForwardTuples, elements_are_what_was_put_in) {
  auto [graph, changed] = ran(forward_tuples, R"(graph(%x : Tensor, %y : int):
    %m1 : int = prim::Constant[value=-1]()
    %t : Tuple[Tensor, int] = prim::TupleConstruct(%x, %y)
    %a : Tensor, %b : int = prim::TupleUnpack(%t)
    %c : int = prim::TupleIndex(%t, %m1)
    %l : int[] = prim::ListConstruct(%b, %c)
    %d : int, %e : int = prim::ListUnpack(%l)
    %f : int = aten::__getitem__.t(%l, %m1)
    return (%a, %b, %c, %d, %e, %f))");
  EXPECT_TRUE(changed);
  EXPECT_EQ(graph->outputs()[0], graph->inputs()[0]);
  for (size_t i = 1; i < 6; ++i) EXPECT_EQ(graph->outputs()[i], graph->inputs()[1]) << i;
  EXPECT_FALSE(forward_tuples(*graph));
}

TEST(ForwardTuples, elements_come_out_of_enclosing_blocks) {
  auto [graph, changed] = ran(forward_tuples, R"(graph(%x : Tensor, %c : bool):
    %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%x, %x)
    %y : Tensor = prim::If(%c)
      block0():
        %a : Tensor, %b : Tensor = prim::TupleUnpack(%t)
        -> (%b)
      block1():
        -> (%x)
    return (%y))");
  EXPECT_EQ(graph->outputs()[0]->node->blocks[0]->results[0], graph->inputs()[0]);
}

class NotForwarded : public testing::TestWithParam<Row> {};

TEST_P(NotForwarded, nothing_changes) { expect_untouched(forward_tuples, GetParam().text); }

INSTANTIATE_TEST_SUITE_P(ForwardTuples, NotForwarded,
                         testing::ValuesIn(std::vector<Row>{
                             {"a_list_whose_element_is_replaced", R"(graph(%x : Tensor, %y : Tensor, %i : int):
      %l : Tensor[] = prim::ListConstruct(%x)
      %m : Tensor[] = aten::_set_item.t(%l, %i, %y)
      %a : Tensor = prim::ListUnpack(%l)
      return (%a))"},
                             {"a_list_that_an_unknown_method_gets", R"(graph(%x : Tensor, %o : Any):
      %l : Tensor[] = prim::ListConstruct(%x)
      %r : int = prim::CallMethod[name="f"](%o, %l)
      %a : Tensor = prim::ListUnpack(%l)
      return (%a))"},
                             {"a_list_of_another_length", R"(graph(%x : Tensor):
      %l : Tensor[] = prim::ListConstruct(%x)
      %a : Tensor, %b : Tensor = prim::ListUnpack(%l)
      return (%a))"},
                             {"an_index_out_of_range", R"(graph(%x : Tensor):
      %1 : int = prim::Constant[value=1]()
      %l : Tensor[] = prim::ListConstruct(%x)
      %a : Tensor = aten::__getitem__.t(%l, %1)
      return (%a))"},
                             {"a_list_that_came_from_outside", R"(graph(%l : Tensor[]):
      %a : Tensor = prim::ListUnpack(%l)
      return (%a))"},
                         }),
                         row_name);

// variadic ------------------------------------------------------------------------------------------------------------

TEST(Variadic, cat_and_stack_take_the_tensors_themselves) {
  auto [graph, changed] = ran(variadic, R"(graph(%x : Tensor, %y : Tensor, %d : int):
    %l : Tensor[] = prim::ListConstruct(%x, %y)
    %a : Tensor = aten::cat(%l, %d)
    %b : Tensor = aten::stack(%l, %d)
    return (%a, %b))");
  dead_code(*graph);
  EXPECT_EQ(print(*graph),
            "graph(%x : Tensor, %y : Tensor, %d : int):\n"
            "  %a : Tensor = prim::VarCat(%x, %y, %d)\n"
            "  %b : Tensor = prim::VarStack(%x, %y, %d)\n"
            "  return (%a, %b)\n");
}

TEST(Variadic, the_list_stays_for_its_other_uses) {
  auto [graph, changed] = ran(variadic, R"(graph(%x : Tensor, %d : int):
    %l : Tensor[] = prim::ListConstruct(%x)
    %a : Tensor = aten::cat(%l, %d)
    return (%a, %l))");
  dead_code(*graph);
  EXPECT_EQ(count(*graph, "prim::VarCat"), 1u);
  EXPECT_EQ(count(*graph, "prim::ListConstruct"), 1u);
}

TEST(Variadic, in_place_writes_to_the_tensors_are_no_obstacle) {
  auto [graph, changed] = ran(variadic, R"(graph(%x : Tensor, %d : int):
    %y : Tensor = aten::neg(%x)
    %l : Tensor[] = prim::ListConstruct(%x, %y)
    %w : Tensor = aten::zero_(%y)
    %a : Tensor = aten::cat(%l, %d)
    return (%a))");
  EXPECT_TRUE(changed);
}

class NotVariadic : public testing::TestWithParam<Row> {};

TEST_P(NotVariadic, nothing_changes) { expect_untouched(variadic, GetParam().text); }

INSTANTIATE_TEST_SUITE_P(Variadic, NotVariadic,
                         testing::ValuesIn(std::vector<Row>{
                             {"a_list_that_grows", R"(graph(%x : Tensor, %d : int):
      %l : Tensor[] = prim::ListConstruct(%x)
      %m : Tensor[] = aten::append.t(%l, %x)
      %a : Tensor = aten::cat(%l, %d)
      return (%a))"},
                             {"a_list_that_grows_under_another_name", R"(graph(%x : Tensor, %d : int, %c : bool):
      %l : Tensor[] = prim::ListConstruct(%x)
      %k : Tensor[] = prim::ListConstruct(%x, %x)
      %p : Tensor[] = prim::If(%c)
        block0():
          -> (%l)
        block1():
          -> (%k)
      %m : Tensor[] = aten::append.t(%p, %x)
      %a : Tensor = aten::cat(%l, %d)
      %b : Tensor = aten::cat(%k, %d)
      return (%a, %b))"},
                             {"a_list_that_grows_inside_a_tuple", R"(graph(%x : Tensor, %d : int):
      %l : Tensor[] = prim::ListConstruct(%x)
      %t : Tuple[Tensor[], int] = prim::TupleConstruct(%l, %d)
      %u : Tensor[], %v : int = prim::TupleUnpack(%t)
      %m : Tensor[] = aten::append.t(%u, %x)
      %a : Tensor = aten::cat(%l, %d)
      return (%a))"},
                             {"a_list_from_outside", R"(graph(%l : Tensor[], %d : int):
      %a : Tensor = aten::cat(%l, %d)
      return (%a))"},
                             {"an_empty_list", R"(graph(%d : int):
      %l : Tensor[] = prim::ListConstruct()
      %a : Tensor = aten::cat(%l, %d)
      return (%a))"},
                         }),
                         row_name);

// fold_batch_norm -----------------------------------------------------------------------------------------------------

constexpr const char* kConvolved = R"(graph(%x : Tensor):
    %w : Tensor = prim::Constant[tensor=0]()
    %b : Tensor = prim::Constant[tensor=1]()
    %scale : Tensor = prim::Constant[tensor=2]()
    %shift : Tensor = prim::Constant[tensor=3]()
    %mean : Tensor = prim::Constant[tensor=4]()
    %var : Tensor = prim::Constant[tensor=5]()
    %none : None = prim::Constant[value=None]()
    %1 : int = prim::Constant[value=1]()
    %two : int[] = prim::Constant[value=[2, 2]]()
    %one : int[] = prim::Constant[value=[1, 1]]()
    %same : str = prim::Constant[value="same"]()
    %eps : float = prim::Constant[value=0.001]()
    %true : bool = prim::Constant[value=True]()
    %false : bool = prim::Constant[value=False]()
)";

std::vector<at::Tensor> convolution_parameters() {
  return {at::randn({5, 3, 3, 3}), at::randn({5}), at::randn({5}), at::randn({5}), at::randn({5}), at::rand({5}) + 0.1};
}

// Runs operators, constants and branches.
void interpret(const Block& block, std::vector<c10::IValue>& values) {
  for (const Node* node : block.nodes) {
    if (node->opcode == Opcode::kConstant) {
      values[node->output()->id] = node->constant;
      continue;
    }
    if (node->opcode == Opcode::kIf) {
      const Block& taken = *node->blocks[values[node->input()->id].toBool() ? 0 : 1];
      interpret(taken, values);
      for (size_t i = 0; i < node->outputs.size(); ++i) values[node->output(i)->id] = values[taken.results[i]->id];
      continue;
    }
    std::vector<c10::IValue> stack;
    for (const Value* value : node->inputs) stack.push_back(values[value->id]);
    node->op->boxed(stack);
    for (size_t i = 0; i < node->outputs.size(); ++i) values[node->output(i)->id] = stack[i];
  }
}

at::Tensor interpret(const Graph& graph, const at::Tensor& input) {
  std::vector<c10::IValue> values(graph.value_count());
  values[graph.inputs()[0]->id] = input;
  interpret(graph.root(), values);
  return values[graph.outputs()[0]->id].toTensor();
}

size_t root_count(const Graph& graph, const char* name) {
  const auto& nodes = graph.root().nodes;
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) { return node->is_operator(name); });
}

class FoldsBatchNorm : public testing::TestWithParam<Row> {};

TEST_P(FoldsBatchNorm, and_agrees_with_libtorch) {
  std::string text = std::string(kConvolved) + GetParam().text;
  auto parameters = convolution_parameters();
  auto original = parse_graph(text, parameters);
  auto [graph, changed] = ran(fold_batch_norm, text, parameters);
  EXPECT_TRUE(changed);
  EXPECT_EQ(root_count(*graph, "aten::batch_norm"), 0u);
  at::Tensor input = at::randn({2, 3, 8, 9});
  at::Tensor expected = interpret(*original, input), actual = interpret(*graph, input);
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(actual, expected, 1e-4, 1e-5)) << (actual - expected).abs().max();
  EXPECT_FALSE(fold_batch_norm(*graph));
}

INSTANTIATE_TEST_SUITE_P(FoldBatchNorm, FoldsBatchNorm,
                         testing::ValuesIn(std::vector<Row>{
                             {"conv2d", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"without_biases", R"(
    %c : Tensor = aten::conv2d(%x, %w, %none, %two, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %none, %none, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"conv2d_with_same_padding", R"(
    %c : Tensor = aten::conv2d.padding(%x, %w, %b, %one, %same, %two, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"traced_convolution", R"(
    %c : Tensor = aten::_convolution(%x, %w, %b, %two, %one, %one, %false, %one, %1, %false, %false, %true, %true)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"result_asked_for_its_rank", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %d : int = aten::dim(%c)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                         }),
                         row_name);

class KeepsBatchNorm : public testing::TestWithParam<Row> {};

TEST_P(KeepsBatchNorm, nothing_changes) {
  expect_untouched(fold_batch_norm, std::string(kConvolved) + GetParam().text, convolution_parameters());
}

INSTANTIATE_TEST_SUITE_P(FoldBatchNorm, KeepsBatchNorm,
                         testing::ValuesIn(std::vector<Row>{
                             {"in_training", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %true, %eps, %eps, %true)
    return (%y))"},
                             {"when_the_convolution_has_another_reader", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    %z : Tensor = aten::add.Tensor(%y, %c, %1)
    return (%z))"},
                             {"when_the_convolution_is_written_through_a_view", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %v : Tensor = aten::select.int(%c, %1, %1)
    %f : Tensor = aten::zero_(%v)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"when_a_parameter_is_written", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %v : Tensor = aten::select.int(%mean, %1, %1)
    %f : Tensor = aten::zero_(%v)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"when_the_weight_is_an_input", R"(
    %c : Tensor = aten::conv2d(%x, %x, %b, %two, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))"},
                             {"when_it_runs_more_often_than_the_convolution", R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %two, %one, %one, %1)
    %z : Tensor = prim::Loop(%1, %true, %x)
      block0(%i : int, %k : Tensor):
        %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
        -> (%true, %y)
    return (%z))"},
                         }),
                         row_name);

TEST(FoldBatchNorm, an_input_without_batch_dimension_is_normalised_where_batch_norm_would) {
  std::string text = std::string(kConvolved) + R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %one, %one, %one, %1)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))";
  auto parameters = convolution_parameters();
  auto original = parse_graph(text, parameters);
  auto [graph, changed] = ran(fold_batch_norm, text, parameters);
  EXPECT_TRUE(changed);
  at::Tensor input = at::randn({3, 5, 7});  // as high as there are channels: batch_norm takes the height
  EXPECT_TRUE(at::allclose(interpret(*graph, input), interpret(*original, input), 1e-4, 1e-5));
}

TEST(FoldBatchNorm, nothing_is_kept_where_the_model_insists_on_a_batch) {
  auto [graph, changed] = ran(fold_batch_norm, std::string(kConvolved) + R"(
    %c : Tensor = aten::conv2d(%x, %w, %b, %one, %one, %one, %1)
    %d : int = aten::dim(%c)
    %4 : int = prim::Constant[value=4]()
    %wrong : bool = aten::ne.int(%d, %4)
    prim::If(%wrong)
      block0():
        prim::RaiseException(%same, %none)
        -> ()
      block1():
        -> ()
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    return (%y))",
                              convolution_parameters());
  EXPECT_TRUE(changed);
  EXPECT_EQ(count(*graph, "aten::batch_norm"), 0u) << print(*graph);
}

TEST(FoldBatchNorm, two_in_a_row_fold_in_two_rounds) {
  auto graph = parse_graph(std::string(kConvolved) + R"(
    %c : Tensor = aten::_convolution(%x, %w, %b, %two, %one, %one, %false, %one, %1, %false, %false, %true, %true)
    %y : Tensor = aten::batch_norm(%c, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    %y2 : Tensor = aten::batch_norm(%y, %scale, %shift, %mean, %var, %false, %eps, %eps, %true)
    %z : Tensor = aten::relu_(%y2)
    return (%z))",
                           convolution_parameters());
  optimize(*graph);
  EXPECT_EQ(node_count(*graph), 2u) << print(*graph);
}

// pipeline ------------------------------------------------------------------------------------------------------------

TEST(Pipeline, passes_use_what_the_others_leave) {
  auto graph = parse_graph(R"(graph(%x : Tensor, %y : Tensor):
    %true : bool = prim::Constant[value=True]()
    %0 : int = prim::Constant[value=0]()
    %1 : int = prim::Constant[value=1]()
    %t : Tuple[int, bool] = prim::TupleConstruct(%1, %true)
    %d : int, %c : bool = prim::TupleUnpack(%t)
    %l : Tensor[] = prim::If(%c)
      block0():
        %a : Tensor[] = prim::ListConstruct(%x, %y)
        -> (%a)
      block1():
        %b : Tensor[] = prim::ListConstruct(%x)
        %m : Tensor[] = aten::append.t(%b, %y)
        -> (%b)
    %r : Tensor = aten::cat(%l, %d)
    return (%r))");
  optimize(*graph);
  EXPECT_EQ(node_count(*graph), 1u) << print(*graph);
  EXPECT_EQ(count(*graph, "prim::VarCat"), 1u);
}

TEST(Pipeline, attributes_that_only_dead_branches_write_are_constants) {
  Program program;
  program.slots = {{"training", c10::BoolType::get(), false},
                   {"mean", c10::TensorType::get(), at::zeros({3})},
                   {"seen", c10::TensorType::get(), at::zeros({})}};
  program.methods.emplace_back().graph = parse_graph(R"(graph(%x : Tensor):
    %1 : int = prim::Constant[value=1]()
    %none : NoneType = prim::Constant[value=None]()
    %tenth : float = prim::Constant[value=0.1]()
    %training : bool = stator::LoadState[slot=0]()
    %mean : Tensor = stator::LoadState[slot=1]()
    prim::If(%training)
      block0():
        %seen : Tensor = stator::LoadState[slot=2]()
        %more : Tensor = aten::add_.Scalar(%seen, %1, %1)
        -> ()
      block1():
        -> ()
    %use : bool = aten::__and__.bool(%training, %training)
    %y : Tensor = aten::batch_norm(%x, %none, %none, %mean, %mean, %use, %tenth, %tenth, %use)
    return (%y))");
  optimize(program);
  EXPECT_TRUE(program.slots.empty());
  EXPECT_EQ(node_count(*program.methods[0].graph), 1u) << print(*program.methods[0].graph);
}

TEST(Pipeline, five_thousand_nodes_take_well_under_a_second) {
  std::string text = "graph(%x : Tensor):\n  %1 : int = prim::Constant[value=1]()\n  %v0 : Tensor = aten::relu(%x)\n";
  for (int i = 0; i < 2500; ++i) {
    std::string a = std::to_string(i), b = std::to_string(i + 1);
    text += "  %l" + a + " : Tensor[] = prim::ListConstruct(%v" + a + ", %x)\n";
    text += "  %v" + b +
            " : Tensor = " + (i % 3 ? "aten::cat(%l" + a + ", %1)\n" : "aten::add_.Tensor(%v" + a + ", %x, %1)\n");
  }
  auto graph = parse_graph(text + "  return (%v2500)\n");
  auto start = std::chrono::steady_clock::now();
  optimize(*graph);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_LT(took.count(), 5.0);  // loose: sanitizers and busy machines
  EXPECT_EQ(count(*graph, "prim::ListConstruct"), 0u);
}

TEST(SizeTensors, what_a_trace_computes_with_sizes_is_done_with_ints) {
  auto [graph, changed] = ran(size_tensors, R"(graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %n : int = aten::size.int(%x, %zero)
  %m : int = aten::size.int(%x, %one)
  %a : Tensor = prim::NumToTensor.Scalar(%n)
  %b : Tensor = prim::NumToTensor.Scalar(%m)
  %four : Tensor = prim::Constant[tensor=0]()
  %c : Tensor = aten::floor_divide(%a, %four)
  %d : Tensor = aten::mul.Tensor(%c, %b)
  %e : Tensor = aten::sub.Tensor(%d, %four, %one)
  %f : Tensor = aten::add.Scalar(%e, %one, %one)
  %i : int = aten::Int.Tensor(%f)
  %j : int = aten::Int.Tensor(%c)
  %sizes : int[] = prim::ListConstruct(%i, %j)
  return (%sizes))",
                              {at::scalar_tensor(4, at::kLong)});
  EXPECT_TRUE(changed);
  dead_code(*graph);
  for (const char* gone : {"aten::Int.Tensor", "prim::NumToTensor.Scalar", "aten::floor_divide", "aten::mul.Tensor"})
    EXPECT_EQ(count(*graph, gone), 0u) << print(*graph);
  EXPECT_EQ(count(*graph, "aten::floordiv.int"), 1u);
  EXPECT_EQ(count(*graph, "aten::mul.int") + count(*graph, "aten::sub.int") + count(*graph, "aten::add.int"), 3u);
}

TEST(SizeTensors, tensors_that_are_written_or_not_known_to_be_sizes_stay) {
  expect_untouched(size_tensors, R"(graph(%n : int, %x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = prim::NumToTensor.Scalar(%n)
  %w : Tensor = aten::add_.Scalar(%a, %one, %one)
  %i : int = aten::Int.Tensor(%a)
  %j : int = aten::Int.Tensor(%x)
  %b : Tensor = prim::NumToTensor.Scalar(%n)
  %c : Tensor = prim::NumToTensor.Scalar(%n)
  %d : Tensor = aten::floor_divide(%b, %c)
  %k : int = aten::Int.Tensor(%d)
  return (%i, %j, %k))");
}

}  // namespace
}  // namespace stator
