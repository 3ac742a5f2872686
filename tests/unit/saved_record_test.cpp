// Records of runs, written and read: what comes back makes the same plan, and numbers from anywhere make none or one that fits.
#include "plan/saved_record.h"

#include <gtest/gtest.h>

#include <random>

#include "both_plans.h"

namespace stator {
namespace {

using test::Both;

constexpr std::string_view kLoop = R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=True]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %carried : Tensor):
      %sum : Tensor = aten::add.Tensor(%carried, %x, %one)
      %even : bool = aten::eq.int(%i, %one)
      %next : Tensor = prim::If(%even)
        block0():
          %t : Tensor = aten::tanh(%sum)
          -> (%t)
        block1():
          -> (%sum)
      -> (%true, %next)
  return (%y))";

std::shared_ptr<const SignaturePlan> plan_of(Both& both) {
  both.run_often({at::randn({3, 4}), 3});
  EXPECT_EQ(both.plans().size(), 1u);
  return both.plans().at(0);
}

TEST(SavedRecord, makes_the_same_plan_again) {
  Both both(kLoop);
  const auto made = plan_of(both);
  const auto read = read_record(*made->dynamic, made->record);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->signature, made->signature);
  PackedWeights packed;
  const auto again = make_signature_plan(*made->dynamic, read->signature, read->recording, packed);
  EXPECT_EQ(again->steps.size(), made->steps.size());
  EXPECT_EQ(again->workspace_bytes, made->workspace_bytes);
  EXPECT_EQ(again->record, made->record);
}

TEST(SavedRecord, fits_no_other_plan) {
  Both both(kLoop), other("graph(%x : Tensor, %n : int):\n  %y : Tensor = aten::tanh(%x)\n  return (%y)");
  EXPECT_FALSE(read_record(other.bound.method().plan(), plan_of(both)->record));
}

TEST(SavedRecord, is_refused_where_it_is_cut) {
  Both both(kLoop);
  const auto made = plan_of(both);
  for (size_t size = 0; size < made->record.size(); ++size)
    EXPECT_FALSE(read_record(*made->dynamic, std::span(made->record).first(size))) << size;
}

// What is not refused is a run that the plan could have done, of which a plan can be made, or none.
TEST(SavedRecord, of_any_numbers_does_no_harm) {
  Both both(kLoop);
  const auto made = plan_of(both);
  std::mt19937_64 random(1);
  const std::vector<int64_t> odd{-1,
                                 0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 64,
                                 1 << 20,
                                 int64_t{1} << 40,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    auto numbers = made->record;
    for (int change = 0; change < 1 + round % 3; ++change)
      numbers[1 + random() % (numbers.size() - 1)] = odd[random() % odd.size()];
    const auto read = read_record(*made->dynamic, numbers);
    refused += !read;
    if (!read) continue;
    PackedWeights packed;
    try {
      make_signature_plan(*made->dynamic, read->signature, read->recording, packed);
    } catch (const std::exception&) {
      // No plan, and that is all.
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace stator
