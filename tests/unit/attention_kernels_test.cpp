// Attention against ATen's: the kernel in each table that this CPU can run, and the binder.
#include <ATen/ATen.h>
#include <c10/util/ParallelGuard.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "binding_probe.h"
#include "usable_tables.h"

namespace stator {
namespace {

using Arguments = std::vector<c10::IValue>;

void expect_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const c10::IValue& mask = {},
                      bool causal = false, const c10::IValue& scale = {}) {
  c10::InferenceMode inference;
  const at::Tensor expected =
      at::scaled_dot_product_attention(q, k, v, mask.isNone() ? std::optional<at::Tensor>() : mask.toTensor(), 0.0,
                                       causal, scale.isNone() ? std::optional<double>() : scale.toDouble());
  BindingProbe probe("aten::scaled_dot_product_attention", {q, k, v, mask, 0.0, causal, scale, false});
  ASSERT_TRUE(probe.bind()) << q.sizes();
  BindingProbe in_parts("aten::scaled_dot_product_attention", {q, k, v, mask, 0.0, causal, scale, false}, {}, 2);
  c10::ParallelGuard one_thread(true);
  ASSERT_TRUE(in_parts.bind()) << q.sizes();
  ASSERT_TRUE(at::allclose(probe.result(), in_parts.result(), 0, 0, true)) << q.sizes() << " in parts";
  ASSERT_EQ(probe.result().sizes(), expected.sizes());
  ASSERT_EQ(probe.result().strides(), expected.strides()) << q.sizes() << q.strides();
  ASSERT_TRUE(at::allclose(probe.result(), expected, 1.3e-6, 1e-5, true))
      << q.sizes() << " " << k.sizes() << ": " << (probe.result() - expected).abs().max().item<float>();
}

TEST(AttentionBinder, is_libtorchs_for_all_lengths) {
  for (int64_t queries : {1, 2, 5, 12, 13, 16, 40}) {
    for (int64_t keys : {1, 3, 8, 16, 17, 33, 100}) {
      for (int64_t depth : {1, 5, 8, 16, 32, 40}) {
        const at::Tensor q = at::randn({2, 3, queries, depth}), k = at::randn({2, 3, keys, depth}),
                         v = at::randn({2, 3, keys, depth});
        expect_attention(q, k, v);
        expect_attention(q, k, v, {}, true, 0.3);
        expect_attention(q, k, v, at::randn({queries, keys}));
        expect_attention(q, k, v, at::rand({2, 1, queries, keys}) > 0.4);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(AttentionBinder, is_libtorchs_for_all_layouts_and_masks) {
  const at::Tensor plain = at::randn({2, 4, 16, 32}), turned = at::randn({2, 16, 4, 32}).transpose(1, 2);
  const at::Tensor together = at::randn({2, 16, 3, 4, 32});
  const auto part = [&](int64_t i) { return together.select(2, i).transpose(1, 2); };
  expect_attention(turned, turned, turned);
  expect_attention(turned, plain, plain);
  expect_attention(plain, turned, plain);
  expect_attention(part(0), part(1), part(2));
  expect_attention(plain[0], plain[1], plain[0]);
  expect_attention(turned[0], turned[1], turned[0]);
  expect_attention(plain, plain, plain, at::ones({2, 1, 1, 16}, at::kBool));
  expect_attention(plain, plain, plain, at::randn({1, 16}));
  expect_attention(plain, plain, plain, at::randn({2, 4, 16, 1}));
  expect_attention(plain, plain, plain, at::randn({16, 32}).slice(1, 0, 32, 2));
  expect_attention(plain[0], plain[0], plain[0], at::randn({16, 16}));
}

TEST(AttentionBinder, is_libtorchs_for_what_is_no_number_and_rows_without_keys) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor q = at::randn({1, 2, 20, 24}), k = at::randn({1, 2, 19, 24}), v = at::randn({1, 2, 19, 24});
  const at::Tensor mask = at::rand({20, 19}) > 0.5, numbers = at::zeros({20, 19});
  mask[3].fill_(false);
  numbers[5].fill_(-inf);
  numbers[6][2] = -inf;
  expect_attention(q, k, v, mask);
  expect_attention(q, k, v, numbers);
  q[0][0][7][3] = std::nanf("");
  expect_attention(q, k, v);
}

TEST(AttentionBinder, leaves_the_rest_to_libtorch) {
  const at::Tensor q = at::randn({1, 2, 4, 8}), wide = at::randn({1, 2, 4, 16}), doubles = q.to(at::kDouble);
  const c10::IValue none;
  const auto bind = [](Arguments arguments) {
    return BindingProbe("aten::scaled_dot_product_attention", std::move(arguments)).bind();
  };
  EXPECT_TRUE(bind({q, q, q, none, 0.0, false, none, false}));
  EXPECT_FALSE(bind({q, q, q, none, 0.1, false, none, false}));
  EXPECT_FALSE(bind({q, q, q, none, 0.0, false, none, true}));
  EXPECT_FALSE(bind({q, q, q, at::zeros({4, 4}), 0.0, true, none, false}));
  EXPECT_FALSE(bind({q, q, q, at::zeros({4, 5}), 0.0, false, none, false}));
  EXPECT_FALSE(bind({q, q, q, at::zeros({2, 4, 4}), 0.0, false, none, false}));
  EXPECT_FALSE(bind({q, q, wide, none, 0.0, false, none, false}));
  EXPECT_FALSE(bind({doubles, doubles, doubles, none, 0.0, false, none, false}));
  EXPECT_FALSE(bind({wide.slice(3, 0, 16, 2), q, q, none, 0.0, false, none, false}));
}

TEST(AttentionBinder, leaves_fewer_heads_than_threads_to_libtorch) {
  const at::Tensor q = at::randn({1, 2, 4, 8});
  const Arguments arguments{q, q, q, {}, 0.0, false, {}, false};
  EXPECT_TRUE(BindingProbe("aten::scaled_dot_product_attention", arguments, {}, 2).bind());
  EXPECT_FALSE(BindingProbe("aten::scaled_dot_product_attention", arguments, {}, 3).bind());
}

class AttentionKernel : public testing::TestWithParam<const KernelTable*> {};

TEST_P(AttentionKernel, is_attention_in_float64) {
  const AttentionKernels& table = *GetParam()->attention;
  for (int64_t keys : {1, 7, 16, 29, 70}) {
    const int64_t queries = 15, depth = 11;
    const at::Tensor q = at::randn({2, queries, depth}), k = at::randn({2, keys, depth}),
                     v = at::randn({2, keys, depth});
    AttentionSpec spec{};
    spec.batches = 1;
    spec.heads = 2;
    spec.queries = queries;
    spec.keys = keys;
    spec.depth = spec.columns = depth;
    for (auto* steps : {&spec.q, &spec.out}) (*steps)[1] = queries * depth, (*steps)[2] = depth;
    for (auto* steps : {&spec.k, &spec.v}) (*steps)[1] = keys * depth, (*steps)[2] = depth;
    spec.scale = 0.3f;
    const at::Tensor out = at::empty_like(q),
                     scratch = at::full({attention_scratch(keys, depth, table.panel)}, std::nanf(""));
    void* addresses[] = {q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr(), scratch.data_ptr()};
    ASSERT_TRUE(table.attend(&spec, addresses));
    const at::Tensor scores = at::matmul(q.to(at::kDouble), k.to(at::kDouble).mT()) * static_cast<double>(spec.scale);
    const at::Tensor expected = at::matmul(at::softmax(scores, -1), v.to(at::kDouble));
    EXPECT_TRUE(at::allclose(out.to(at::kDouble), expected, 1.3e-6, 1e-5)) << keys;
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, AttentionKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
