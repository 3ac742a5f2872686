// Picking by indices by bound kernels, against LibTorch's operators, in each table that this CPU can run.
#include "binding_probe.h"
#include "bound_operators.h"

namespace stator {
namespace {

using Arguments = std::vector<c10::IValue>;

class BoundGather : public testing::TestWithParam<const KernelTable*> {
 protected:
  void expect(const char* key, Arguments arguments, bool constants = false) {
    expect_bound(*GetParam(), key, std::move(arguments), constants);
  }
  void expect_failure(const char* key, const Arguments& arguments) {
    for (int64_t parts : {1, 2}) {
      BoundOperator call(key, arguments, false, parts);
      ASSERT_TRUE(call.bound()) << key;
      ASSERT_FALSE(call.run_in(*GetParam())) << key << " in " << parts << " parts";
    }
  }
};

at::Tensor ids(at::IntArrayRef sizes, int64_t low, int64_t high, at::ScalarType dtype = at::kLong) {
  return at::randint(low, high, sizes, at::TensorOptions(dtype));
}

TEST_P(BoundGather, embedding_is_atens) {
  for (int64_t n = 1; n < 70; ++n) {
    const at::Tensor weight = at::randn({50, n});
    for (at::ScalarType dtype : {at::kLong, at::kInt}) {
      expect("aten::embedding", {weight, ids({3, 4}, 0, 50, dtype), -1, false, false});
      expect("aten::embedding", {weight.to(at::kHalf), ids({30}, 0, 50, dtype), 3, false, false});
    }
    if (HasFatalFailure()) return;
  }
  for (int64_t wrong : {-1, 50})
    expect_failure("aten::embedding", {at::randn({50, 8}), at::full({2}, wrong, at::kLong), -1, false, false});
}

TEST_P(BoundGather, selections_are_atens) {
  for (const at::Tensor& x : {at::randn({5, 6, 7}), at::randn({5, 1, 40}), ids({4, 5, 6}, 0, 9)}) {
    for (int64_t dim = -3; dim < 3; ++dim) {
      const int64_t size = x.size(dim);
      expect("aten::index_select", {x, dim, ids({9}, 0, size)});
      expect("aten::index_select", {x, dim, ids({}, 0, size, at::kInt)});
      at::DimVector sizes(x.sizes());
      sizes[dim < 0 ? dim + 3 : dim] = 4;
      if (x.is_contiguous()) expect("aten::gather", {x, dim, ids(sizes, 0, size), false});
    }
    if (x.is_contiguous()) expect("aten::take", {x, ids({3, 4}, -x.numel(), x.numel())});
    if (HasFatalFailure()) return;
  }
  expect_failure("aten::index_select", {at::randn({5, 6}), 1, at::full({2}, -1, at::kLong)});
  expect_failure("aten::gather", {at::randn({5, 6}), 1, at::full({5, 2}, 6, at::kLong), false});
  expect_failure("aten::take", {at::randn({5}), at::full({2}, -6, at::kLong)});
  expect("aten::one_hot", {ids({3, 4}, 0, 7), 7});
  expect_failure("aten::one_hot", {ids({3, 4}, 7, 8), 7});
}

using Indices = std::vector<std::optional<at::Tensor>>;

TEST_P(BoundGather, indices_are_atens) {
  const at::Tensor x = at::randn({64, 9, 9}), y = at::randn({3, 4, 5, 6});
  const Indices cases_of_x[] = {{std::nullopt, ids({36}, -9, 9), ids({36}, -9, 9)},
                                {std::nullopt, std::nullopt, ids({4, 5}, -9, 9)},
                                {std::nullopt, ids({7}, -9, 9)},
                                {ids({7}, -9, 9)},
                                {ids({7}, -9, 9), ids({7}, 0, 9), ids({7}, 0, 9)},
                                {ids({2, 7}, -9, 9), ids({1}, 0, 9)},
                                {ids({}, -9, 9), ids({7}, 0, 9)}};
  const Indices cases_of_y[] = {{ids({8}, -3, 3)},
                                {std::nullopt, ids({2, 3}, 0, 4), ids({}, 0, 5)},
                                {ids({8}, -3, 3), ids({8}, 0, 4), std::nullopt, std::nullopt},
                                {ids({1}, -3, 3), ids({8}, 0, 4), ids({8}, 0, 5), ids({8}, 0, 6)}};
  for (bool constants : {false, true}) {
    for (const Indices& indices : cases_of_x)
      expect("aten::index.Tensor", {x, c10::List<std::optional<at::Tensor>>(indices)}, constants);
    for (const Indices& indices : cases_of_y)
      expect("aten::index.Tensor", {y, c10::List<std::optional<at::Tensor>>(indices)}, constants);
  }
  const Indices wrong{std::nullopt, at::full({3}, 9, at::kLong), at::full({3}, 0, at::kLong)};
  expect_failure("aten::index.Tensor", {x, c10::List<std::optional<at::Tensor>>(wrong)});
}

TEST(BoundIndex, frozen_indices_are_one_constant_list) {
  const at::Tensor x = at::randn({3, 5, 6}), i = ids({7}, -5, 5), j = ids({7}, 0, 6);
  BindingProbe probe("aten::index.Tensor", {x, c10::List<std::optional<at::Tensor>>({std::nullopt, i, j})});
  ASSERT_TRUE(probe.bind());
  EXPECT_TRUE(at::equal(probe.result(), x.index({at::indexing::Slice(), i, j})));
}

TEST_P(BoundGather, bags_are_atens) {
  for (int64_t n : {1, 3, 8, 16, 20, 32, 61, 64, 100}) {
    const at::Tensor weight = at::randn({40, n});
    for (at::ScalarType dtype : {at::kLong, at::kInt}) {
      const at::Tensor indices = ids({12}, 0, 40, dtype), offsets = at::tensor({0, 2, 2, 7}, dtype);
      for (int64_t mode : {0, 1}) {
        expect("aten::embedding_bag", {weight, indices, offsets, false, mode, false, kNone, false});
        expect("aten::embedding_bag.padding_idx", {weight, indices, offsets, false, mode, false, kNone, false, kNone});
        expect("aten::_embedding_bag_forward_only", {weight, indices, offsets, false, mode, false, kNone, false, -1});
        const at::Tensor ends = at::tensor({0, 2, 2, 7, 12}, dtype);
        expect("aten::embedding_bag", {weight, indices, ends, false, mode, false, kNone, true});
        expect("aten::embedding_bag", {weight, indices, at::arange(0, 12, 4, dtype), false, mode, false, kNone, false});
      }
      expect("aten::embedding_bag", {weight, indices, offsets, false, 0, false, at::randn({12}), false});
    }
    if (HasFatalFailure()) return;
  }
  const at::Tensor weight = at::randn({40, 16});
  expect_failure("aten::embedding_bag",
                 {weight, ids({4}, 40, 41), at::tensor({0, 2}, at::kLong), false, 0, false, kNone, false});
  expect_failure("aten::embedding_bag",
                 {weight, ids({4}, 0, 40), at::tensor({1, 2}, at::kLong), false, 0, false, kNone, false});
  expect_failure("aten::embedding_bag",
                 {weight, ids({4}, 0, 40), at::tensor({0, 5}, at::kLong), false, 0, false, kNone, false});
}

INSTANTIATE_TEST_SUITE_P(Capabilities, BoundGather, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
