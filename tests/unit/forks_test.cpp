// Forks: any number of helpers, also none, gives the same results; errors come out of wait; nothing outlives the run.
#include "runtime/forks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "graph/error.h"
#include "graph/parser.h"
#include "graph/printer.h"
#include "graph/verifier.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "runtime/runtime.h"
#include "session.h"

namespace stator {
namespace {

// Jobs as a caller's launcher gets them.
struct Jobs {
  void add(void (*run)(void*), void* task) {
    std::lock_guard lock(mutex);
    waiting.emplace_back(run, task);
  }
  void run_all() {
    for (auto& [run, task] : waiting) run(task);
    waiting.clear();
  }
  std::mutex mutex;
  std::vector<std::pair<void (*)(void*), void*>> waiting;
};

struct Way {
  const char* name;
  int helpers;
  Launcher launcher;
};

const Launcher kInline{[](void*, void (*run)(void*), void* task) { run(task); }, nullptr};
const Launcher kThreads{[](void*, void (*run)(void*), void* task) { std::thread(run, task).detach(); }, nullptr};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"no helper", 0, {}},           {"one helper", 1, {}},          {"many helpers", 7, {}},
      {"called at once", 0, kInline}, {"a thread each", 0, kThreads},
  };
  return all;
}

using test::Session;

RuntimeOptions options_of(const Way& way) { return {.inter_op_threads = way.helpers, .launcher = way.launcher}; }

void run_every_way(std::string_view graph, const std::function<void(Session&)>& check,
                   const std::vector<at::Tensor>& state = {}) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    Session session(graph, state, options_of(way));
    for (int run = 0; run < 20; ++run) check(session);
  }
}

TEST(ForksThreads, tuples_lists_and_scalars_come_through) {
  run_every_way(R"(graph(%x : Tensor, %n : int):
  %f : Future[Tuple[Tensor, Tensor[], int]] = prim::fork(%x, %n)
    block0(%y : Tensor, %m : int):
      %one : int = prim::Constant[value=1]()
      %a : Tensor = aten::mul.Tensor(%y, %y)
      %b : Tensor = aten::add.Tensor(%a, %y, %one)
      %l : Tensor[] = prim::ListConstruct(%a, %b)
      %k : int = aten::add.int(%m, %one)
      %t : Tuple[Tensor, Tensor[], int] = prim::TupleConstruct(%b, %l, %k)
      -> (%t)
  %z : Tensor = aten::neg(%x)
  %r : Tuple[Tensor, Tensor[], int] = aten::wait(%f)
  %again : Tuple[Tensor, Tensor[], int] = aten::wait(%f)
  %all : Tuple[Tuple[Tensor, Tensor[], int], Tensor] = prim::TupleConstruct(%again, %z)
  return (%all)
)",
                [](Session& session) {
                  at::Tensor x = at::rand({3, 4});
                  auto all = session.run({x, 4});
                  const auto& inner = all.toTupleRef().elements()[0].toTupleRef().elements();
                  EXPECT_TRUE(at::equal(x * x + x, inner[0].toTensor()));
                  EXPECT_TRUE(at::equal(x * x, inner[1].toTensorVector()[0]));
                  EXPECT_EQ(5, inner[2].toInt());
                  EXPECT_TRUE(at::equal(-x, all.toTupleRef().elements()[1].toTensor()));
                });
}

TEST(ForksThreads, nested_forks_in_a_loop_end_with_any_number_of_threads) {
  run_every_way(R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %futures : Future[Tensor][] = prim::ListConstruct()
  prim::Loop(%n, %true)
    block0(%i : int):
      %f : Future[Tensor] = prim::fork(%x, %i)
        block0(%y : Tensor, %j : int):
          %g : Future[Tensor] = prim::fork(%y)
            block0(%u : Tensor):
              %v : Tensor = aten::mul.Tensor(%u, %u)
              %w : Tensor = aten::neg(%v)
              -> (%w)
          %h : Tensor = aten::add.Scalar(%y, %j, %one)
          %inner : Tensor = aten::wait(%g)
          %both : Tensor = aten::add.Tensor(%inner, %h, %one)
          -> (%both)
      %added : Future[Tensor][] = aten::append.t(%futures, %f)
      -> (%true)
  %sum : Tensor = prim::Loop(%n, %true, %x)
    block0(%i2 : int, %s : Tensor):
      %f2 : Future[Tensor] = aten::__getitem__.t(%futures, %i2)
      %r : Tensor = aten::wait(%f2)
      %s2 : Tensor = aten::add.Tensor(%s, %r, %one)
      -> (%true, %s2)
  return (%sum)
)",
                [](Session& session) {
                  at::Tensor x = at::rand({5});
                  at::Tensor expected = x;
                  for (int i = 0; i < 6; ++i) expected = expected + (-(x * x) + (x + i));
                  EXPECT_TRUE(at::allclose(expected, session.run({x, 6}).toTensor()));
                });
}

constexpr const char* kRaises = R"(graph(%x : Tensor, %y : Tensor, %wait : bool):
  %f : Future[Tensor] = prim::fork(%x, %y)
    block0(%a : Tensor, %b : Tensor):
      %c : Tensor = aten::mul.Tensor(%a, %a)
      %d : Tensor = aten::bmm(%c, %b)
      -> (%d)
  %r : Tensor = prim::If(%wait)
    block0():
      %w : Tensor = aten::wait(%f)
      -> (%w)
    block1():
      -> (%x)
  return (%r)
)";

TEST(ForksThreads, errors_come_out_of_wait_with_their_place_and_the_runtime_stays_usable) {
  run_every_way(kRaises, [](Session& session) {
    at::Tensor x = at::rand({2, 3, 4}), y = at::rand({2, 4, 5});
    EXPECT_TRUE(at::allclose(at::bmm(x * x, y), session.run({x, y, true}).toTensor()));
    try {
      session.run({x, at::rand({3, 4, 5}), true});
      FAIL() << "batch sizes differ";
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::kOperatorError, error.code);
      EXPECT_EQ("aten::bmm", error.place.op);
      EXPECT_EQ("0.1", error.place.node) << "node 1 of the fork that is node 0";
    }
    EXPECT_TRUE(at::equal(x, session.run({x, at::rand({3, 4, 5}), false}).toTensor())) << "nobody waited";
  });
}

TEST(ForksThreads, tasks_that_nobody_waits_for_are_done_when_the_run_ends) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    Session session(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %before : Tensor = stator::LoadState[slot=0]()
  %f : Future[Tensor] = prim::fork(%x)
    block0(%y : Tensor):
      %state : Tensor = stator::LoadState[slot=0]()
      %new : Tensor = aten::add.Tensor(%state, %y, %one)
      stator::StoreState[slot=0](%new)
      -> (%y)
  return (%before)
)",
                    {at::zeros({2})}, options_of(way));
    for (int run = 0; run < 4; ++run) {
      EXPECT_TRUE(at::equal(at::full({2}, 1.0 * run), session.run({at::ones({2})}).toTensor()));
    }
  }
}

TEST(ForksThreads, several_tasks_may_wait_for_one) {
  run_every_way(
      R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %f : Future[Tensor] = prim::fork(%x)
    block0(%y : Tensor):
      %z : Tensor = aten::tanh(%y)
      -> (%z)
  %g : Future[Tensor] = prim::fork(%f)
    block0(%p : Future[Tensor]):
      %u : Tensor = aten::wait(%p)
      %v : Tensor = aten::neg(%u)
      -> (%v)
  %h : Future[Tensor] = prim::fork(%f)
    block0(%q : Future[Tensor]):
      %s : Tensor = aten::wait(%q)
      -> (%s)
  %a : Tensor = aten::wait(%g)
  %b : Tensor = aten::wait(%h)
  %c : Tensor = aten::add.Tensor(%a, %b, %one)
  return (%c)
)",
      [](Session& session) { EXPECT_TRUE(at::equal(at::zeros({64}), session.run({at::rand({64})}).toTensor())); });
}

TEST(ForksThreads, what_a_launcher_runs_late_does_nothing) {
  Jobs jobs;
  const Launcher late{
      [](void* context, void (*run)(void*), void* task) { static_cast<Jobs*>(context)->add(run, task); }, &jobs};
  {
    Session session(kRaises, {}, options_of({"late", 0, late}));
    at::Tensor x = at::rand({2, 3, 4}), y = at::rand({2, 4, 5});
    for (int run = 0; run < 3; ++run) {
      EXPECT_TRUE(at::allclose(at::bmm(x * x, y), session.run({x, y, true}).toTensor()));
    }
    EXPECT_EQ(3u, jobs.waiting.size());
  }
  jobs.run_all();  // the runtime is gone
}

TEST(ForksThreads, state_that_a_fork_writes_is_the_runs_own) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    Session session(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %f : Future[Tensor] = prim::fork(%x)
    block0(%y : Tensor):
      %state : Tensor = stator::LoadState[slot=0]()
      %new : Tensor = aten::add_.Tensor(%state, %y, %one)
      -> (%new)
  %r : Tensor = aten::wait(%f)
  return (%r)
)",
                    {at::zeros({2})}, options_of(way));
    for (int run = 1; run <= 4; ++run) {
      EXPECT_TRUE(at::equal(at::full({2}, 1.0 * run), session.run({at::ones({2})}).toTensor()));
    }
  }
}

TEST(Forks, a_graph_with_forks_is_printed_and_read_back) {
  auto graph = parse_graph(kRaises);
  verify(*graph);
  EXPECT_EQ(print(*graph), print(*parse_graph(print(*graph))));
}

TEST(Forks, the_block_of_a_fork_captures_constants_only) {
  auto graph = parse_graph(R"(graph(%x : Tensor):
  %f : Future[Tensor] = prim::fork()
    block0():
      %y : Tensor = aten::neg(%x)
      -> (%y)
  %r : Tensor = aten::wait(%f)
  return (%r)
)");
  EXPECT_THROW(verify(*graph), Error);
}

TEST(Forks, constants_move_into_the_fork_and_unused_arguments_go) {
  auto graph = parse_graph(R"(graph(%x : Tensor, %unused : Tensor):
  %two : int = prim::Constant[value=2]()
  %f : Future[Tensor] = prim::fork(%x, %unused, %two)
    block0(%y : Tensor, %z : Tensor, %n : int):
      %m : int = aten::mul.int(%n, %n)
      %a : Tensor = aten::add.Scalar(%y, %m, %n)
      -> (%a)
  %pure : Future[Tensor] = prim::fork(%x)
    block0(%p : Tensor):
      %q : Tensor = aten::neg(%p)
      -> (%q)
  %r : Tensor = aten::wait(%f)
  return (%r)
)");
  while (fold_constants(*graph) | dead_code(*graph)) verify(*graph);
  int forks = 0;
  for_each_node(graph->root(), [&](const Node* node) {
    EXPECT_FALSE(node->is_operator("aten::mul")) << "folded";
    if (node->opcode != Opcode::kFork) return;
    ++forks;
    EXPECT_EQ(1u, node->inputs.size());
  });
  EXPECT_EQ(1, forks) << "what nobody waits for and writes nothing goes";
}

}  // namespace
}  // namespace stator
