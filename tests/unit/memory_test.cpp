// Memory planning: tables of lifetimes and sizes, and whole graphs.
#include <gtest/gtest.h>

#include <random>

#include "analysis/lifetimes.h"
#include "graph/parser.h"
#include "memory/greedy_by_size.h"
#include "memory/storage_groups.h"
#include "plan/plan.h"

namespace stator {
namespace {

TEST(StorageGroups, buffers_that_meet_never_share_and_others_do) {
  const std::vector<Lifetime> lifetimes{{0, 2}, {1, 3}, {3, 4}, {4, 6}, {5, 5}};
  auto groups = assign_storage_groups(lifetimes);
  EXPECT_EQ((std::vector<int32_t>{0, 1, 0, 1, 0}), groups);
}

TEST(StorageGroups, a_group_is_as_large_as_its_largest_member) {
  const std::vector<int32_t> groups{0, 1, 0};
  const std::vector<int64_t> bytes{100, 1, 300};
  std::vector<int64_t> capacities;
  ArenaLayout layout = layout_groups(groups, bytes, &capacities);
  EXPECT_EQ((std::vector<int64_t>{0, 320, 0}), layout.offsets);
  EXPECT_EQ((std::vector<int64_t>{320, 64, 320}), capacities);
  EXPECT_EQ(384, layout.bytes);
  EXPECT_EQ(0, layout_groups({}, {}).bytes);
}

TEST(StorageGroups, random_lifetimes_never_overlap_in_memory) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    std::vector<int64_t> bytes;
    for (int i = 0; i < 30; ++i) {
      auto first = static_cast<int32_t>(random() % 40);
      lifetimes.push_back({first, first + static_cast<int32_t>(random() % 10)});
      bytes.push_back(static_cast<int64_t>(random() % 1000));
    }
    ArenaLayout layout = layout_groups(assign_storage_groups(lifetimes), bytes);
    for (size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_EQ(0, layout.offsets[a] % kArenaAlignment);
      EXPECT_LE(layout.offsets[a] + bytes[a], layout.bytes);
      for (size_t b = 0; b < a; ++b) {
        bool apart =
            layout.offsets[a] + bytes[a] <= layout.offsets[b] || layout.offsets[b] + bytes[b] <= layout.offsets[a];
        EXPECT_TRUE(apart || !lifetimes[a].meets(lifetimes[b])) << "buffers " << a << " and " << b;
      }
    }
  }
}

TEST(GreedyBySize, fills_holes_and_takes_no_more_than_what_is_alive) {
  const std::vector<BufferSpec> buffers{{64, {0, 1}}, {128, {1, 2}}, {64, {2, 3}}, {0, {0, 3}}};
  const ArenaLayout layout = greedy_by_size(buffers);
  EXPECT_EQ((std::vector<int64_t>{128, 0, 128, 0}), layout.offsets);
  EXPECT_EQ(192, layout.bytes);
  EXPECT_EQ(192, largest_live_set(buffers));
  EXPECT_EQ(0, greedy_by_size({}).bytes);
}

TEST(GreedyBySize, random_buffers_never_overlap_and_stay_near_the_largest_live_set) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferSpec> buffers;
    for (int i = 0; i < 30; ++i) {
      const auto first = static_cast<int32_t>(random() % 40);
      buffers.push_back({static_cast<int64_t>(random() % 1000), {first, first + static_cast<int32_t>(random() % 10)}});
    }
    const ArenaLayout layout = greedy_by_size(buffers);
    EXPECT_LE(static_cast<double>(layout.bytes), 1.5 * static_cast<double>(largest_live_set(buffers)));
    for (size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(0, layout.offsets[a] % kArenaAlignment);
      EXPECT_LE(layout.offsets[a] + buffers[a].bytes, layout.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool apart = layout.offsets[a] + buffers[a].bytes <= layout.offsets[b] ||
                           layout.offsets[b] + buffers[b].bytes <= layout.offsets[a];
        EXPECT_TRUE(apart || !buffers[a].lifetime.meets(buffers[b].lifetime)) << "buffers " << a << " and " << b;
      }
    }
  }
}

// The tensors of the plan of a graph, by the name of their value.
const PlannedTensor* planned(const Plan& plan, const std::string& name) {
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.value->name == name) return &tensor;
  }
  return nullptr;
}

TEST(Plans, what_a_branch_captures_lives_as_long_as_what_the_branch_returns) {
  // Defect A of upstream: z may be a view of a, and a's memory was given to d.
  auto graph = parse_graph(R"(graph(%x : Tensor, %y : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %shape : List[int] = prim::Constant[value=[-1]]()
  %a : Tensor = aten::mul.Tensor(%x, %y)
  %b : Tensor = aten::mul.Tensor(%y, %y)
  %z : Tensor = prim::If(%c)
    block0():
      %v : Tensor = aten::view(%a, %shape)
      -> (%v)
    block1():
      %w : Tensor = aten::view(%b, %shape)
      -> (%w)
  %d : Tensor = aten::sub.Tensor(%x, %y, %one)
  %e : Tensor = aten::mul.Tensor(%d, %d)
  %f : Tensor = aten::mul.Tensor(%z, %e)
  %g : Tensor = aten::neg(%f)
  return (%g)
)");
  auto plan = make_dynamic_plan(*graph, PlannerKind::kStandard);
  for (const char* maker : {"a", "b"}) {
    for (const char* other : {"d", "e"}) {
      ASSERT_TRUE(planned(*plan, maker) && planned(*plan, other));
      EXPECT_NE(planned(*plan, maker)->group, planned(*plan, other)->group) << maker << " and " << other;
    }
  }
  EXPECT_EQ(Place::kArena, planned(*plan, "g")->place);
}

TEST(Plans, what_a_loop_carries_or_a_list_keeps_has_no_place_of_its_own) {
  auto graph = parse_graph(R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=True]()
  %list : List[Tensor] = prim::ListConstruct(%x)
  %last : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %carried : Tensor):
      %t : Tensor = aten::mul.Tensor(%carried, %x)
      %next : Tensor = aten::tanh(%t)
      %kept : Tensor = aten::neg(%t)
      %same : List[Tensor] = aten::append.t(%list, %kept)
      -> (%true, %next)
  %zero : int = prim::Constant[value=0]()
  %all : Tensor = aten::stack(%list, %zero)
  %pair : Tuple[Tensor, Tensor] = prim::TupleConstruct(%last, %all)
  return (%pair)
)");
  auto plan = make_dynamic_plan(*graph, PlannerKind::kStandard);
  EXPECT_EQ(nullptr, planned(*plan, "next"));
  EXPECT_EQ(nullptr, planned(*plan, "kept"));
  ASSERT_NE(nullptr, planned(*plan, "t"));
  EXPECT_EQ(Place::kWorkspace, planned(*plan, "t")->place);
}

}  // namespace
}  // namespace stator
