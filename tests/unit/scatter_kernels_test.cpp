// Putting and adding by indices by bound kernels, against LibTorch's operators, in each table that this CPU can run.
#include "bound_operators.h"

namespace stator {
namespace {

using Arguments = std::vector<c10::IValue>;

class BoundScatter : public testing::TestWithParam<const KernelTable*> {
 protected:
  void expect(const char* key, Arguments arguments) { expect_bound(*GetParam(), key, std::move(arguments), false); }
  void expect_failure(const char* key, const Arguments& arguments) {
    BoundOperator call(key, arguments);
    ASSERT_TRUE(call.bound()) << key;
    ASSERT_FALSE(call.run_in(*GetParam())) << key;
  }
};

at::Tensor places(at::IntArrayRef sizes, int64_t low, int64_t high) {
  return at::randint(low, high, sizes, at::TensorOptions(at::kLong));
}

// Whole numbers: LibTorch may add them up in another order.
at::Tensor scattered(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randint(-3, 4, sizes, at::TensorOptions(dtype));
}

TEST_P(BoundScatter, of_elements_is_atens) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong, at::kInt}) {
    for (int64_t dim = -3; dim < 3; ++dim) {
      for (int64_t n : {1, 3, 8, 21}) {
        const at::Tensor self = scattered({4, n, 6}, dtype);
        at::DimVector sizes(self.sizes());
        sizes[dim < 0 ? dim + 3 : dim] = 5;
        const at::Tensor index = places(sizes, 0, self.size(dim)), from = scattered(sizes, dtype);
        expect("aten::scatter_add", {self, dim, index, from});
        expect("aten::scatter_reduce.two", {self, dim, index, from, "amax", true});
        expect("aten::scatter_reduce.two", {self, dim, index, from, "amin", true});
        expect("aten::scatter_reduce.two", {self, dim, index, from, "prod", true});
        expect("aten::scatter.value", {self, dim, index, 2});
      }
    }
  }
  const at::Tensor order = at::rand({5, 7}).argsort(int64_t{1});
  for (at::ScalarType dtype : {at::kFloat, at::kLong, at::kBool, at::kByte})
    expect("aten::scatter.src",
           {scattered({5, 7}, at::kInt).to(dtype), 1, order, scattered({5, 7}, at::kInt).to(dtype)});
  for (int64_t wrong : {-1, 7})
    expect_failure("aten::scatter_add", {at::randn({5, 7}), 1, at::full({5, 2}, wrong, at::kLong), at::randn({5, 2})});
}

TEST_P(BoundScatter, of_slices_is_atens) {
  for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong}) {
    for (int64_t n : {1, 3, 8, 16, 21, 70}) {
      const at::Tensor self = scattered({6, n}, dtype), from = scattered({9, n}, dtype), by = places({9}, 0, 6);
      expect("aten::index_add", {self, 0, by, from, 1});
      expect("aten::index_add", {self, 0, by.to(at::kInt), from.t().contiguous().t(), 1});
      expect("aten::index_add", {self, 1, places({4}, 0, n), scattered({6, 4}, dtype), 1});
      expect("aten::scatter_add", {self, 0, by.unsqueeze(1).expand({9, n}), from});
      expect("aten::index_fill.int_Scalar", {self, 0, by, 2});
      expect("aten::index_copy", {self, 0, at::rand({6}).argsort().slice(0, 0, 3), from.slice(0, 0, 3)});
    }
  }
  expect_failure("aten::index_add", {at::randn({5, 7}), 0, at::full({2}, 5, at::kLong), at::randn({2, 7}), 1});
}

TEST_P(BoundScatter, into_an_index_is_atens) {
  using Indices = c10::List<std::optional<at::Tensor>>;
  const at::Tensor self = at::randn({6, 5, 4}), by = at::tensor({0, -1, 3}, at::kLong);
  for (bool accumulate : {false, true}) {
    expect("aten::index_put", {self, Indices({by}), at::randn({3, 5, 4}), accumulate});
    expect("aten::index_put", {self, Indices({by}), at::randn({1}), accumulate});
    expect("aten::index_put", {self, Indices({std::nullopt, by}), at::randn({6, 3, 4}), accumulate});
    expect("aten::index_put", {self, Indices({std::nullopt, std::nullopt, by}), at::randn({6, 5, 3}), accumulate});
    expect("aten::index_put", {self, Indices({at::scalar_tensor(-2, at::kLong)}), at::randn({5, 4}), accumulate});
    expect("aten::index_put",
           {self, Indices({std::nullopt, at::scalar_tensor(2, at::kLong)}), at::randn({}), accumulate});
  }
  expect_failure("aten::index_put", {self, Indices({at::full({2}, -7, at::kLong)}), at::randn({2, 5, 4}), false});
}

INSTANTIATE_TEST_SUITE_P(Capabilities, BoundScatter, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
