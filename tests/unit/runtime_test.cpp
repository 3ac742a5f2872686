// What leaves a run: shapes and strides as the interpreter's, memory that is the caller's alone.
#include "runtime/runtime.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/error.h"
#include "session.h"

namespace stator {
namespace {

using test::Session;

void expect_copy_of(const at::Tensor& expected, const at::Tensor& actual) {
  EXPECT_EQ(expected.sizes(), actual.sizes());
  EXPECT_EQ(expected.strides(), actual.strides());
  EXPECT_TRUE(at::equal(expected, actual));
  EXPECT_NE(expected.const_data_ptr(), actual.const_data_ptr());
}

TEST(Results, an_input_is_returned_as_a_copy) {
  Session session(R"(graph(%x : Tensor):
  return (%x)
)");
  for (const at::Tensor& x : {at::rand({2, 3}), at::rand({3, 2}).t(), at::rand({}), at::rand({0, 4})}) {
    at::Tensor result = session.run({x}).toTensor();
    EXPECT_TRUE(at::equal(x, result));
    EXPECT_EQ(x.sizes(), result.sizes());
    if (x.numel() > 0) expect_copy_of(x, result);
  }
}

TEST(Results, elements_that_share_memory_keep_their_strides) {
  Session session(R"(graph(%x : Tensor):
  return (%x)
)");
  at::Tensor x = at::rand({3, 1});
  expect_copy_of(x.expand({3, 4}), session.run({x.expand({3, 4})}).toTensor());
  at::Tensor windows = at::rand({8}).unfold(0, 3, 1);
  expect_copy_of(windows, session.run({windows}).toTensor());
}

TEST(Results, views_of_one_memory_part) {
  Session session(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add.Tensor(%x, %x, %one)
  %zero : int = prim::Constant[value=0]()
  %row : Tensor = aten::select.int(%a, %zero, %zero)
  %both : Tuple[Tensor, Tensor, Tensor] = prim::TupleConstruct(%a, %row, %a)
  return (%both)
)");
  for (int run = 0; run < 3; ++run) {
    at::Tensor x = at::rand({2 + run, 3});
    auto result = session.run({x});
    const auto& elements = result.toTupleRef().elements();
    EXPECT_TRUE(at::equal(x + x, elements[0].toTensor()));
    EXPECT_TRUE(at::equal((x + x)[0], elements[1].toTensor()));
    EXPECT_FALSE(elements[0].toTensor().is_alias_of(elements[1].toTensor()));
    EXPECT_TRUE(elements[0].is(elements[2])) << "one tensor in two places is one";
  }
}

// Runs on bound inputs into one arena, of which each has the last one's tensor as its result.
class RunsAgain : public testing::Test {
 protected:
  at::Tensor run(StaticRuntime& runtime) {
    runtime.run(*session_.module->methods()[0], arena_);
    EXPECT_EQ(arena_.outputs().size(), 1u);
    EXPECT_TRUE(arena_.result().toTensor().is_same(arena_.outputs()[0]));
    return arena_.outputs()[0];
  }
  at::Tensor bind_and_run(StaticRuntime& runtime, const at::Tensor& x) {
    runtime.bind(*session_.module->methods()[0], 0, x);
    at::Tensor result;
    for (int i = 0; i < 4; ++i) result = run(runtime);
    EXPECT_TRUE(at::equal(x + x, result));
    return result;
  }

  Session session_{R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add.Tensor(%x, %x, %one)
  return (%a)
)"};
  Arena arena_{session_.module};
};

TEST_F(RunsAgain, write_the_same_tensor) {
  at::Tensor x = at::rand({2, 3});
  const c10::TensorImpl* made = bind_and_run(session_.runtime, x).unsafeGetTensorImpl();
  const int64_t generation = arena_.generation();
  x.fill_(4);
  EXPECT_TRUE(at::equal(run(session_.runtime), at::full({2, 3}, 8.0)));
  EXPECT_EQ(arena_.outputs()[0].unsafeGetTensorImpl(), made);
  EXPECT_EQ(arena_.generation(), generation + 1);
}

TEST_F(RunsAgain, make_the_result_whatever_was_done_to_the_last_one) {
  const at::Tensor x = at::rand({2, 3});
  const auto expect_result_after = [&](const std::function<void(at::Tensor)>& change) {
    bind_and_run(session_.runtime, x);
    const c10::InferenceMode inference;
    change(arena_.outputs()[0]);
    const at::Tensor result = run(session_.runtime);
    EXPECT_EQ(result.strides(), x.strides());
    EXPECT_TRUE(at::equal(x + x, result));
  };
  expect_result_after([](const at::Tensor& result) { result.as_strided_({3, 2}, {1, 3}); });
  expect_result_after([](const at::Tensor& result) { result.as_strided_({1, 3}, {3, 1}, 3); });
  expect_result_after([](const at::Tensor& result) { result.set_(at::zeros({2, 3})); });
}

TEST_F(RunsAgain, take_turns_with_others_in_one_arena) {
  const auto other = session_.runtime.clone();
  for (int turn = 0; turn < 3; ++turn) {
    bind_and_run(session_.runtime, at::rand({2, 3}));
    bind_and_run(*other, at::rand({4, 5}));
    EXPECT_EQ(run(session_.runtime).sizes(), at::IntArrayRef({2, 3}));
    EXPECT_EQ(run(*other).sizes(), at::IntArrayRef({4, 5}));
    arena_.reset();
    EXPECT_TRUE(arena_.outputs().empty());
    EXPECT_EQ(run(session_.runtime).sizes(), at::IntArrayRef({2, 3}));
    arena_.trim();
    EXPECT_EQ(run(*other).sizes(), at::IntArrayRef({4, 5}));
  }
}

TEST(State, views_of_one_memory_stay_views_in_every_copy) {
  at::Tensor base = at::zeros({4});
  Session session(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = stator::LoadState[slot=0]()
  %b : Tensor = stator::LoadState[slot=1]()
  %c : Tensor = aten::add_.Tensor(%a, %x, %one)
  %d : Tensor = aten::add.Tensor(%b, %b, %one)
  return (%d)
)",
                  {base, base.slice(0, 1, 3)});
  auto clone = session.runtime.clone();
  for (int run = 1; run <= 3; ++run) {
    EXPECT_TRUE(at::equal(at::full({2}, 2.0 * run), session.run({at::ones({4})}).toTensor()));
  }
  Arena arena(session.module);
  clone->call(*session.module->methods()[0], {at::ones({4})}, {}, arena);
  EXPECT_TRUE(at::equal(at::full({2}, 2.0), arena.result().toTensor())) << "a clone goes its own way";
  EXPECT_TRUE(at::equal(at::zeros({4}), base)) << "the file's values are never written";
}

// Only then is what state holds looked through after each run.
TEST(State, is_known_to_keep_inputs_or_not) {
  const struct {
    const char* body;
    bool keeps;
  } rows[] = {
      {"  %y : Tensor = aten::mul.Tensor(%x, %s)\n  stator::StoreState[slot=0](%y)\n", false},
      {"  %y : Tensor = aten::add_.Tensor(%s, %x, %one)\n", false},
      {"  stator::StoreState[slot=0](%x)\n", true},
      {"  %y : Tensor = aten::select.int(%x, %zero, %zero)\n  stator::StoreState[slot=0](%y)\n", true},
      {"  %y : Tensor = aten::set_.source_Tensor(%s, %x)\n", true},
  };
  for (const auto& row : rows) {
    const std::string graph = std::string("graph(%x : Tensor):\n  %one : int = prim::Constant[value=1]()\n") +
                              "  %zero : int = prim::Constant[value=0]()\n" +
                              "  %s : Tensor = stator::LoadState[slot=0]()\n" + row.body + "  return (%one)\n";
    EXPECT_EQ(row.keeps, test::make_module(graph, {}, {at::rand({2})})->methods()[0]->plan().state_may_keep_inputs)
        << graph;
  }
}

TEST(State, holds_a_copy_of_an_input_once_the_run_is_over) {
  Session session(R"(graph(%x : Tensor):
  %s : Tensor = stator::LoadState[slot=0]()
  %none : None = prim::Constant[value=None]()
  %old : Tensor = aten::clone(%s, %none)
  %y : Tensor = aten::set_.source_Tensor(%s, %x)
  return (%old)
)",
                  {at::zeros({2})});
  at::Tensor x = at::ones({2});
  session.run({x});
  x.fill_(5);
  EXPECT_TRUE(at::equal(at::ones({2}), session.run({at::rand({2})}).toTensor()));
}

TEST(State, views_of_it_that_are_returned_beside_it_are_copies) {
  Session session(R"(graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %s : Tensor = stator::LoadState[slot=0]()
  %v : Tensor = aten::squeeze(%s)
  %w : Tensor = aten::add_.Tensor(%s, %x, %one)
  %l : Tensor[] = prim::ListConstruct(%v, %s)
  return (%l)
)",
                  {at::zeros({1, 2})});
  const c10::IValue first = session.run({at::ones({1, 2})});
  session.run({at::ones({1, 2})});
  for (const at::Tensor& held : first.toTensorVector()) EXPECT_TRUE(held.eq(1).all().item<bool>()) << held;
}

TEST(Errors, name_the_operator_and_what_it_got_and_leave_the_runtime_usable) {
  Session session(R"(graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul.Tensor(%x, %x)
  %b : Tensor = aten::bmm(%a, %y)
  return (%b)
)");
  at::Tensor x = at::rand({2, 3, 4}), y = at::rand({2, 4, 5});
  for (int run = 0; run < 3; ++run) {
    EXPECT_TRUE(at::allclose(at::bmm(x * x, y), session.run({x, y}).toTensor()));
    try {
      session.run({x, at::rand({3, 4, 5})});
      FAIL() << "batch sizes differ";
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::kOperatorError, error.code);
      EXPECT_EQ("aten::bmm", error.place.op);
      EXPECT_NE(std::string::npos, error.message.find("self = a: float32[2, 3, 4], mat2 = y: float32[3, 4, 5]"))
          << error.message;
      EXPECT_FALSE(session.arena.filled());
    }
  }
}

}  // namespace
}  // namespace stator
