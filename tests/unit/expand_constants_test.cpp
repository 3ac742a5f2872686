// Constants that pointwise steps broadcast, written down element by element in signature plans.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "both_plans.h"

namespace stator {
namespace {

using test::Both;

constexpr const char* kShifted = R"(graph(%x : Tensor):
    %mu : Tensor = stator::LoadState[slot=0]()
    %one : int = prim::Constant[value=1]()
    %y : Tensor = aten::sub.Tensor(%x, %mu, %one)
    %z : Tensor = aten::mul.Tensor(%y, %mu)
    return (%z))";

int64_t bytes_of_constants(const Both& both) {
  int64_t bytes = 0;
  for (const at::Tensor& constant : both.plans().at(0)->constants) bytes += static_cast<int64_t>(constant.nbytes());
  return bytes;
}

struct ConstantsCase {
  std::vector<int64_t> constant, input;
  int64_t bytes;  // that the plan has for it
};

TEST(ExpandConstants, where_they_are_small_and_repeat) {
  for (const auto& [constant, input, bytes] :
       {ConstantsCase{{1, 50}, {20, 50}, 20 * 50 * 4}, ConstantsCase{{7, 1}, {7, 9}, 7 * 9 * 4},
        ConstantsCase{{3, 1, 5}, {3, 4, 5}, 3 * 4 * 5 * 4}, ConstantsCase{{20, 50}, {20, 50}, 0},  // as it lies
        ConstantsCase{{1, 1}, {20, 50}, 0},                                                        // one for all
        ConstantsCase{{1, 50}, {100, 50}, 0}}) {                                                   // too much
    Both both(kShifted, {at::randn(constant)});
    EXPECT_EQ(both.run_often({at::randn(input)}), 1);
    EXPECT_EQ(bytes_of_constants(both), bytes) << input;
  }
}

TEST(ExpandConstants, of_any_dtype_and_order) {
  for (at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kLong, at::kShort}) {
    Both both(kShifted, {at::arange(6).reshape({6, 1}).to(dtype)});
    both.run_often({at::arange(54).reshape({6, 9}).to(dtype)});
    EXPECT_EQ(both.run_often({at::arange(54).reshape({9, 6}).to(dtype).t()}), 1);
  }
}

// Of many constants, so many as do not take much.
TEST(ExpandConstants, a_plan_does_not_take_much_for_all_of_them) {
  std::string graph = "graph(%x : Tensor):\n    %one : int = prim::Constant[value=1]()\n";
  std::vector<at::Tensor> state;
  std::string last = "%x";
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    graph += "    %w" + n + " : Tensor = stator::LoadState[slot=" + n + "]()\n";
    graph += "    %y" + n + " : Tensor = aten::add.Tensor(" + last + ", %w" + n + ", %one)\n";
    last = "%y" + n;
    state.push_back(at::randn({1, 50}));
  }
  Both both(graph + "    return (" + last + ")", state);
  both.run_often({at::randn({40, 50})});
  EXPECT_EQ(bytes_of_constants(both), 8 * 40 * 50 * 4);
}

}  // namespace
}  // namespace stator
