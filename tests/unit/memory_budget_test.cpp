// Budgets, and what a runtime does under one; leaks of a run.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "graph/error.h"
#include "graph/parser.h"
#include "memory/block.h"
#include "memory/budget.h"
#include "memory/huge_pages.h"
#include "runtime/frame.h"

namespace stator {
namespace {

TEST(MemoryBudget, takes_up_to_its_limit_and_names_it_in_the_error) {
  MemoryBudget budget("module", 100);
  budget.take(60, "results");
  try {
    budget.take(41, "results");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kMemoryLimit);
    EXPECT_EQ(
        error.message,
        "the memory limit of the module is 100 bytes (option \"memory_limit_bytes\"); 60 are in use, and 41 more were "
        "asked for results");
  }
  budget.take(40, "results");
  budget.give_back(100);
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudget, what_the_one_behind_refuses_is_not_taken) {
  auto module = std::make_shared<MemoryBudget>("module", 100);
  MemoryBudget runtime("runtime", 0, module);
  EXPECT_TRUE(runtime.limited());
  EXPECT_THROW(runtime.take(101, "results"), Error);
  EXPECT_EQ(runtime.used(), 0);
  EXPECT_EQ(module->used(), 0);
}

TEST(MemoryBlock, counts_what_it_has_and_gives_it_back) {
  auto budget = std::make_shared<MemoryBudget>("runtime", 1000);
  {
    MemoryBlock block(budget);
    block.reserve(100, "planned tensors");
    EXPECT_EQ(budget->used(), 128);
    EXPECT_THROW(block.reserve(2000, "planned tensors"), Error);
    EXPECT_EQ(block.bytes(), 0);
    block.reserve(900, "planned tensors");
  }
  EXPECT_EQ(budget->used(), 0);
}

TEST(HugePages, are_aligned_and_zero_and_go_back_piece_by_piece) {
  const int64_t sizes[] = {1, kHugePage, 5000, 9 * kHugePage + 5, kHugePage};
  std::vector<std::byte*> pieces;
  {
    HugePages pages;
    for (int64_t bytes : sizes) {
      auto* piece = static_cast<std::byte*>(pages.take(bytes));
      ASSERT_NE(piece, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 4096, 0);
      EXPECT_TRUE(std::all_of(piece, piece + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
      std::fill(piece, piece + bytes, std::byte{1});
      pieces.push_back(piece);
    }
    EXPECT_EQ(pages.take(int64_t{1} << 60), nullptr);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_TRUE(std::all_of(pieces[i], pieces[i] + sizes[i], [](std::byte byte) { return byte == std::byte{1}; }));
    HugePages::give_back(pieces[i], sizes[i]);
    EXPECT_EQ(::msync(pieces[i], 1, MS_ASYNC), -1);
  }
}

TEST(Frame, a_planted_leak_is_seen) {
  auto graph = parse_graph(
      "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = aten::neg(%y)\n  return (%z)\n");
  auto plan = make_dynamic_plan(*graph, PlannerKind::kStandard);
  Frame frame(*plan);
  frame.clear();
  EXPECT_NO_THROW(frame.check_for_leaks());
  frame.input(0) = int64_t{1};
  EXPECT_THROW(frame.check_for_leaks(), Error);
}

TEST(Plan, sizes_that_do_not_depend_on_inputs_are_known_before_the_first_run) {
  auto graph = parse_graph(
      "graph(%x : Tensor):\n"
      "  %none : None = prim::Constant[value=None]()\n"
      "  %one : int = prim::Constant[value=1]()\n"
      "  %sizes : List[int] = prim::Constant[value=[3, 5]]()\n"
      "  %zeros : Tensor = aten::zeros(%sizes, %none, %none, %none, %none)\n"
      "  %ones : Tensor = aten::add.Scalar(%zeros, %one, %one)\n"
      "  %y : Tensor = aten::add.Tensor(%x, %ones, %one)\n"
      "  return (%y)\n");
  auto plan = make_dynamic_plan(*graph, PlannerKind::kStandard);
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < plan->tensors.size(); ++i) bytes.push_back(plan->observed[i]);
  EXPECT_EQ(bytes, (std::vector<int64_t>{60, 60, 0}));
}

}  // namespace
}  // namespace stator
