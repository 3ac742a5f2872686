// Copies by the bound kernel, in each table that this CPU can run.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "plan/copy_step.h"
#include "usable_tables.h"

namespace stator {
namespace {

class CopyKernel : public testing::TestWithParam<const KernelTable*> {
 protected:
  // Copies `from` into `to`, which is part of `whole`, and compares all of that with what LibTorch makes of it.
  void expect(const at::Tensor& from, const at::Tensor& whole,
              const std::function<at::Tensor(const at::Tensor&)>& part) {
    const at::Tensor expected = whole.clone(), actual = whole.clone();
    part(expected).copy_(from);
    const at::Tensor to = part(actual);
    const auto spec = copy_spec(TensorMeta::of(from), TensorMeta::of(to));
    ASSERT_TRUE(spec) << from.sizes();
    void* addresses[] = {from.data_ptr(), to.data_ptr()};
    ASSERT_TRUE(GetParam()->copies->copy(&*spec, addresses));
    ASSERT_TRUE(at::equal(expected, actual)) << from.sizes() << " of " << from.scalar_type();
  }
};

at::Tensor zeros_and_ones(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randint(0, 2, sizes, at::kInt).to(dtype);
}

TEST_P(CopyKernel, runs_of_any_length_go_anywhere) {
  for (at::ScalarType dtype : {at::kBool, at::kHalf, at::kFloat, at::kLong}) {
    for (int64_t n = 1; n < 70; ++n) {
      expect(zeros_and_ones({3, n}, dtype), at::ones({3, n + 5}, dtype),
             [&](const at::Tensor& whole) { return whole.narrow(1, 2, n); });
      expect(zeros_and_ones({3, n + 1}, dtype).narrow(1, 1, n), at::ones({3, n}, dtype),
             [](const at::Tensor& whole) { return whole; });
      if (HasFatalFailure()) return;
    }
    expect(zeros_and_ones({3, 3000}, dtype), at::ones({3, 3001}, dtype),
           [&](const at::Tensor& whole) { return whole.narrow(1, 1, 3000); });
  }
}

TEST_P(CopyKernel, dimensions_are_in_any_order) {
  const std::vector<std::vector<int64_t>> orders{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}, {2, 0, 3, 1}, {0, 2, 1, 3}};
  for (const auto& order : orders) {
    for (const auto& other : orders) {
      const at::Tensor from = zeros_and_ones({2, 3, 4, 5}, at::kFloat).permute(order).contiguous().permute(order);
      at::DimVector sizes;
      for (int64_t d : other) sizes.push_back(from.size(d));
      std::vector<int64_t> back(4);
      for (size_t d = 0; d < 4; ++d) back[static_cast<size_t>(other[d])] = static_cast<int64_t>(d);
      expect(from, at::ones(sizes), [&](const at::Tensor& whole) { return whole.permute(back); });
      expect(from.slice(3, 0, from.size(3), 2), at::ones(from.sizes()),
             [&](const at::Tensor& whole) { return whole.slice(3, 0, whole.size(3), 2); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CopyKernel, what_broadcasts_is_repeated) {
  expect(zeros_and_ones({1}, at::kFloat).expand({4, 9}), at::ones({4, 9}),
         [](const at::Tensor& whole) { return whole; });
  expect(zeros_and_ones({4, 1}, at::kLong).expand({4, 9}), at::ones({9, 4}, at::kLong),
         [](const at::Tensor& whole) { return whole.t(); });
  expect(zeros_and_ones({}, at::kFloat), at::ones({3}), [](const at::Tensor& whole) { return whole.select(0, 1); });
}

INSTANTIATE_TEST_SUITE_P(Capabilities, CopyKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
