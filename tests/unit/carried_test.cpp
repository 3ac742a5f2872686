// Tensors that a loop hands from one iteration to the next.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "runtime/runtime.h"
#include "test_module.h"

namespace stator {
namespace {

c10::IValue run(std::string_view graph, const std::vector<c10::IValue>& arguments) {
  auto module = test::make_module(graph);
  StaticRuntime runtime(module, {.intra_op_threads = 1});
  Arena arena(module);
  runtime.call(*module->methods()[0], arguments, {}, arena);
  return arena.result();
}

TEST(Carried, two_take_turns) {
  at::Tensor x = at::rand({4}), y = at::rand({4}), expected = x;
  for (int i = 0; i < 7; ++i) expected = at::tanh(expected * y);
  at::Tensor result = run(R"(graph(%x : Tensor, %y : Tensor):
    %7 : int = prim::Constant[value=7]()
    %true : bool = prim::Constant[value=True]()
    %z : Tensor = prim::Loop(%7, %true, %x)
      block0(%i : int, %before : Tensor):
        %product : Tensor = aten::mul.Tensor(%before, %y)
        %after : Tensor = aten::tanh(%product)
        -> (%true, %after)
    return (%z))",
                          {x, y})
                          .toTensor();
  EXPECT_TRUE(at::allclose(expected, result));
}

TEST(Carried, what_something_else_holds_is_not_written_again) {
  at::Tensor x = at::rand({4});
  auto kept = run(R"(graph(%x : Tensor):
    %1 : int = prim::Constant[value=1]()
    %0 : int = prim::Constant[value=0]()
    %4 : int = prim::Constant[value=4]()
    %true : bool = prim::Constant[value=True]()
    %list : Tensor[] = prim::ListConstruct()
    %z : Tensor = prim::Loop(%4, %true, %x)
      block0(%i : int, %before : Tensor):
        %after : Tensor = aten::add.Scalar(%before, %1, %1)
        %view : Tensor = aten::slice.Tensor(%after, %0, %1, %4, %1)
        %same : Tensor[] = aten::append.t(%list, %view)
        -> (%true, %after)
    return (%list))",
                  {x})
                  .toTensorVector();
  ASSERT_EQ(kept.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(at::allclose(kept[i], x.slice(0, 1) + (i + 1))) << i;
}

TEST(Carried, sizes_may_change_from_iteration_to_iteration) {
  at::Tensor x = at::rand({3}), expected = x;
  for (int i = 0; i < 5; ++i) expected = at::cat({expected, at::tanh(expected)});
  at::Tensor result = run(R"(graph(%x : Tensor):
    %0 : int = prim::Constant[value=0]()
    %5 : int = prim::Constant[value=5]()
    %true : bool = prim::Constant[value=True]()
    %z : Tensor = prim::Loop(%5, %true, %x)
      block0(%i : int, %before : Tensor):
        %more : Tensor = aten::tanh(%before)
        %both : Tensor[] = prim::ListConstruct(%before, %more)
        %after : Tensor = aten::cat(%both, %0)
        -> (%true, %after)
    return (%z))",
                          {x})
                          .toTensor();
  EXPECT_TRUE(at::allclose(expected, result));
}

}  // namespace
}  // namespace stator
