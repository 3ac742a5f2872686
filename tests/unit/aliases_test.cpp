// What may share memory, and what is written, over whole graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/aliases.h"
#include "graph/graph.h"
#include "graph/parser.h"
#include "graph/verifier.h"

namespace stator {
namespace {

// A graph with its analysis; values by the names in the text.
class Analysed {
 public:
  explicit Analysed(std::string_view text, const std::vector<at::Tensor>& constants = {})
      : graph_(parse_graph(text, constants)), aliases_(verified(*graph_)) {
    collect(graph_->root());
  }

  const Value* value(const std::string& name) const { return values_.at(name); }

  // Whether a change of what one reaches can be seen through the other.
  bool share(const std::string& a, const std::string& b) const {
    LocationSet left = aliases_.reach(value(a)), right = aliases_.reach(value(b));
    return std::any_of(left.begin(), left.end(), [&](LocationId location) { return contains(right, location); });
  }

  bool written(const std::string& name) const {
    const auto& set = aliases_.points_to(value(name));
    return std::any_of(set.begin(), set.end(),
                       [&](LocationId location) { return aliases_.locations()[location].written; });
  }

  bool is(const std::string& name, Location::Kind kind) const {
    const auto& set = aliases_.points_to(value(name));
    return !set.empty() && std::all_of(set.begin(), set.end(), [&](LocationId location) {
      return aliases_.locations()[location].kind == kind;
    });
  }

  const Aliases& aliases() const { return aliases_; }

 private:
  static const Graph& verified(const Graph& graph) {
    verify(graph);
    return graph;
  }

  void collect(const Block& block) {
    for (const Value* value : block.params) values_[value->name] = value;
    for (const Node* node : block.nodes) {
      for (const Value* value : node->outputs) values_[value->name] = value;
      for (const Block* inner : node->blocks) collect(*inner);
    }
  }

  std::unique_ptr<Graph> graph_;
  Aliases aliases_;
  std::unordered_map<std::string, const Value*> values_;
};

TEST(Aliases, results_of_ordinary_operators_are_fresh) {
  Analysed a(R"(graph(%x : Tensor):
    %y : Tensor = aten::relu(%x)
    return (%y))");
  EXPECT_FALSE(a.share("x", "y"));
  EXPECT_TRUE(a.is("y", Location::Kind::kFresh));
  EXPECT_TRUE(a.is("x", Location::Kind::kInput));
  EXPECT_EQ(a.aliases().points_to(a.value("y")), LocationSet{a.aliases().made_by(a.value("y"))});
}

TEST(Aliases, views_share_and_writes_through_them_are_seen) {
  Analysed a(R"(graph(%x : Tensor):
    %0 : int = prim::Constant[value=0]()
    %y : Tensor = aten::relu(%x)
    %v : Tensor = aten::select.int(%y, %0, %0)
    %u : Tensor = aten::unsqueeze(%v, %0)
    %w : Tensor = aten::zero_(%u)
    return (%x))");
  EXPECT_TRUE(a.share("y", "w"));
  EXPECT_TRUE(a.written("y"));
  EXPECT_FALSE(a.written("x"));
}

TEST(Aliases, what_may_be_a_copy_shares_and_is_made_all_the_same) {
  Analysed a(R"(graph(%x : Tensor, %shape : int[]):
    %v : Tensor = aten::view(%x, %shape)
    %r : Tensor = aten::reshape(%x, %shape)
    %w : Tensor = aten::zero_(%r)
    return (%v))");
  EXPECT_TRUE(a.share("x", "r"));
  EXPECT_TRUE(a.written("x"));
  EXPECT_GE(a.aliases().made_by(a.value("r")), 0);
  EXPECT_LT(a.aliases().made_by(a.value("v")), 0);
}

TEST(Aliases, parts_of_a_split_share_with_the_whole) {
  Analysed a(R"(graph(%x : Tensor):
    %2 : int = prim::Constant[value=2]()
    %0 : int = prim::Constant[value=0]()
    %y : Tensor = aten::relu(%x)
    %l : Tensor[] = aten::chunk(%y, %2, %0)
    %p : Tensor, %q : Tensor = prim::ListUnpack(%l)
    %w : Tensor = aten::zero_(%p)
    return (%y))");
  EXPECT_TRUE(a.written("y"));
  EXPECT_TRUE(a.share("q", "y"));
  EXPECT_FALSE(a.share("l", "x"));
}

// Defect A of research/static_runtime_upstream.md, 4.2.
TEST(Aliases, a_branch_may_give_a_view_of_what_it_captured) {
  Analysed a(R"(graph(%x : Tensor, %c : bool):
    %m1 : int[] = prim::Constant[value=[-1]]()
    %a : Tensor = aten::mul.Tensor(%x, %x)
    %b : Tensor = aten::neg(%x)
    %z : Tensor = prim::If(%c)
      block0():
        %p : Tensor = aten::view(%a, %m1)
        -> (%p)
      block1():
        %q : Tensor = aten::view(%b, %m1)
        -> (%q)
    return (%z))");
  EXPECT_TRUE(a.share("z", "a"));
  EXPECT_TRUE(a.share("z", "b"));
  EXPECT_FALSE(a.share("a", "b"));
  EXPECT_FALSE(a.share("z", "x"));
}

TEST(Aliases, carried_values_share_with_what_any_iteration_puts_there) {
  Analysed a(R"(graph(%x : Tensor, %n : int):
    %true : bool = prim::Constant[value=True]()
    %a : Tensor = aten::relu(%x)
    %b : Tensor = aten::neg(%x)
    %y : Tensor, %z : Tensor = prim::Loop(%n, %true, %a, %b)
      block0(%i : int, %p : Tensor, %q : Tensor):
        %f : Tensor = aten::abs(%p)
        -> (%true, %q, %f)
    %w : Tensor = aten::zero_(%y)
    return (%z))");
  EXPECT_TRUE(a.share("y", "a"));
  EXPECT_TRUE(a.share("y", "b"));
  EXPECT_TRUE(a.share("y", "f"));
  EXPECT_TRUE(a.written("f"));
  EXPECT_FALSE(a.written("x"));
}

TEST(Aliases, lists_hold_what_is_appended_set_and_inserted) {
  Analysed a(R"(graph(%x : Tensor, %i : int):
    %p : Tensor = aten::relu(%x)
    %q : Tensor = aten::neg(%x)
    %r : Tensor = aten::abs(%x)
    %l : Tensor[] = prim::ListConstruct()
    %1 : Tensor[] = aten::append.t(%l, %p)
    aten::insert.t(%l, %i, %q)
    %3 : Tensor[] = aten::_set_item.t(%l, %i, %r)
    %e : Tensor = aten::__getitem__.t(%l, %i)
    return (%e))");
  EXPECT_TRUE(a.written("l"));
  for (const char* name : {"p", "q", "r"}) {
    EXPECT_TRUE(a.share("e", name)) << name;
    EXPECT_FALSE(a.written(name)) << name;
  }
  EXPECT_FALSE(a.share("e", "x"));
}

TEST(Aliases, lists_hold_what_they_are_extended_by) {
  Analysed a(R"(graph(%x : Tensor, %i : int):
    %p : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct()
    %k : Tensor[] = prim::ListConstruct(%p)
    aten::extend.t(%l, %k)
    %e : Tensor = aten::__getitem__.t(%l, %i)
    %w : Tensor = aten::zero_(%e)
    return (%e))");
  EXPECT_TRUE(a.share("e", "p"));
  EXPECT_TRUE(a.written("p"));
  EXPECT_FALSE(a.written("k"));
}

TEST(Aliases, dicts_hold_what_they_are_updated_by) {
  Analysed a(R"(graph(%x : Tensor, %s : str):
    %p : Tensor = aten::relu(%x)
    %d : Dict[str, Tensor] = prim::DictConstruct()
    %k : Dict[str, Tensor] = prim::DictConstruct(%s, %p)
    aten::update.str(%d, %k)
    %e : Tensor = aten::__getitem__.Dict_str(%d, %s)
    return (%e))");
  EXPECT_TRUE(a.share("e", "p"));
}

TEST(Aliases, foreach_writes_the_elements_of_its_list) {
  Analysed a(R"(graph(%x : Tensor):
    %p : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct(%p)
    aten::_foreach_neg_(%l)
    return (%p))");
  EXPECT_TRUE(a.written("p"));
}

// Defect E of research/static_runtime_upstream.md, 4.2.
TEST(Aliases, a_slice_of_a_list_is_another_list_with_the_same_elements) {
  Analysed a(R"(graph(%x : Tensor, %i : int):
    %n : None = prim::Constant[value=None]()
    %p : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct(%p)
    %s : Tensor[] = aten::slice.t(%l, %n, %n, %i)
    %m : Tensor[] = aten::append.t(%s, %x)
    %e : Tensor = aten::__getitem__.t(%s, %i)
    return (%e))");
  EXPECT_TRUE(a.written("s"));
  EXPECT_FALSE(a.written("l"));
  EXPECT_TRUE(a.share("e", "p"));
}

TEST(Aliases, containers_of_numbers_alias_by_themselves_only) {
  Analysed a(R"(graph(%i : int):
    %l : int[] = prim::ListConstruct(%i)
    %t : Tuple[int, int] = prim::TupleConstruct(%i, %i)
    %m : int[] = aten::append.t(%l, %i)
    return (%m))");
  EXPECT_TRUE(a.share("l", "m"));
  EXPECT_TRUE(a.aliases().points_to(a.value("t")).empty());
  EXPECT_TRUE(a.aliases().points_to(a.value("i")).empty());
}

// Operators that may return their argument although their schemas do not say so.
struct Returner {
  const char* name;
  const char* call;
};

class MayReturnItsArgument : public testing::TestWithParam<Returner> {};

TEST_P(MayReturnItsArgument, and_shares_with_it) {
  Analysed a(std::string(R"(graph(%x : Tensor):
    %p : float = prim::Constant[value=0.5]()
    %false : bool = prim::Constant[value=False]()
    %s : int[] = prim::Constant[value=[2, 2]]()
    %y : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct(%y)
    )") + GetParam().call +
             "\n return (%z)");
  EXPECT_TRUE(a.share("z", "y"));
}

INSTANTIATE_TEST_SUITE_P(Aliases, MayReturnItsArgument,
                         testing::ValuesIn(std::vector<Returner>{
                             {"dropout", "%z : Tensor = aten::dropout(%y, %p, %false)"},
                             {"feature_dropout", "%z : Tensor = aten::feature_dropout(%y, %p, %false)"},
                             {"type_as", "%z : Tensor = aten::type_as(%y, %x)"},
                             {"sum_to_size", "%z : Tensor = aten::sum_to_size(%y, %s)"},
                             {"atleast_1d", "%z : Tensor = aten::atleast_1d(%y)"},
                             {"conj_physical", "%z : Tensor = aten::conj_physical(%y)"},
                             {"to_dense",
                              "%p2 : None = prim::Constant[value=None]()\n %z : Tensor = aten::to_dense(%y, %p2, %p2)"},
                             {"cartesian_prod", "%z : Tensor = aten::cartesian_prod(%l)"},
                             {"broadcast_tensors", "%z : Tensor[] = aten::broadcast_tensors(%l)"},
                             {"meshgrid", "%z : Tensor[] = aten::meshgrid(%l)"},
                         }),
                         [](const auto& info) { return info.param.name; });

TEST(Aliases, batch_norm_in_training_writes_its_statistics) {
  Analysed a(R"(graph(%x : Tensor, %train : bool):
    %none : None = prim::Constant[value=None]()
    %e : float = prim::Constant[value=0.001]()
    %m : Tensor = aten::relu(%x)
    %v : Tensor = aten::relu(%x)
    %y : Tensor = aten::batch_norm(%x, %none, %none, %m, %v, %train, %e, %e, %train)
    return (%y))");
  EXPECT_TRUE(a.written("m"));
  EXPECT_TRUE(a.written("v"));
}

TEST(Aliases, state_loaded_twice_is_the_same_and_holds_what_is_stored) {
  Analysed a(R"(graph(%x : Tensor):
    %p : Tensor = aten::relu(%x)
    %a : Tensor = stator::LoadState[slot=1]()
    stator::StoreState[slot=1](%p)
    %b : Tensor = stator::LoadState[slot=1]()
    %c : Tensor = stator::LoadState[slot=2]()
    return (%b))");
  EXPECT_TRUE(a.share("a", "b"));
  EXPECT_TRUE(a.share("b", "p"));
  EXPECT_FALSE(a.share("c", "p"));
  EXPECT_EQ(a.aliases().state_stores().size(), 1u);
}

TEST(Aliases, objects_hold_their_attributes) {
  Analysed a(R"(graph(%x : Tensor):
    %p : Tensor = aten::relu(%x)
    %o : Any = prim::CreateObject()
    prim::SetAttr[name="a"](%o, %p)
    %q : Tensor = prim::GetAttr[name="a"](%o)
    %w : Tensor = aten::zero_(%q)
    return (%x))");
  EXPECT_TRUE(a.written("p"));
  EXPECT_TRUE(a.written("o"));
  EXPECT_FALSE(a.written("x"));
}

// Defect M of research/static_runtime_upstream.md, 4.2.
TEST(Aliases, an_unknown_method_concerns_only_what_it_can_reach) {
  Analysed a(R"(graph(%x : Tensor, %o : Any):
    %p : Tensor = aten::relu(%x)
    %q : Tensor = aten::neg(%x)
    %l : Tensor[] = prim::ListConstruct(%p)
    %r : Tensor = prim::CallMethod[name="f"](%o, %l)
    return (%r))");
  EXPECT_TRUE(a.written("p"));
  EXPECT_TRUE(a.share("r", "p"));
  EXPECT_FALSE(a.written("q"));
  EXPECT_FALSE(a.share("r", "q"));
}

TEST(Aliases, an_operator_on_a_list_of_tensors_makes_a_fresh_tensor) {
  Analysed a(R"(graph(%x : Tensor):
    %p : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct(%p, %p)
    %z : Tensor = aten::block_diag(%l)
    return (%z))");
  EXPECT_FALSE(a.share("z", "p"));
}

TEST(Aliases, reach_follows_containers_of_containers) {
  Analysed a(R"(graph(%x : Tensor):
    %p : Tensor = aten::relu(%x)
    %l : Tensor[] = prim::ListConstruct(%p)
    %t : Tuple[Tensor[], Tensor] = prim::TupleConstruct(%l, %x)
    %k : Tuple[Tensor[], Tensor][] = prim::ListConstruct(%t)
    return (%k))");
  EXPECT_TRUE(a.share("k", "p"));
  EXPECT_TRUE(contains(a.aliases().reach(a.value("k")), a.aliases().made_by(a.value("l"))));
}

}  // namespace
}  // namespace stator
