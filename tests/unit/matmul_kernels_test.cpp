// Matrix products against ATen's: each kernel in each table that this CPU can run, and what the binders make of operators.
#include <ATen/ATen.h>
#include <c10/util/ParallelGuard.h>
#include <gtest/gtest.h>

#include <limits>

#include "binding_probe.h"
#include "usable_tables.h"

namespace stator {
namespace {

constexpr int64_t kGap = 3;  // behind each row of a result

class MatmulKernel : public testing::TestWithParam<const KernelTable*> {
 protected:
  const MatmulKernels& table() const { return *GetParam()->matmul; }
  at::ScalarType stored(BoundKernel kernel) const {
    if (kernel == table().packed_bfloat16) return at::kBFloat16;
    return kernel == table().packed_half ? at::kHalf : at::kFloat;
  }
  bool is_narrow(BoundKernel kernel) const { return stored(kernel) != at::kFloat; }

  // a b + bias + addend by a kernel, into rows with gaps. `b` with any strides.
  void check(BoundKernel kernel, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, bool relu,
             const at::Tensor& addend = {}) {
    MatmulSpec spec;
    spec.rows = a.size(0);
    spec.columns = b.size(1);
    spec.depth = a.size(1);
    spec.a_row = a.stride(0);
    spec.a_step = a.stride(1);
    spec.b_step = b.stride(0);
    spec.b_column = b.stride(1);
    spec.c_row = spec.columns + kGap;
    spec.has_bias = bias.defined();
    spec.has_addend = addend.defined();
    spec.addend_row = addend.defined() ? addend.stride(0) : 0;
    spec.relu = relu;
    const at::Tensor out = at::full({spec.rows, spec.c_row}, 7.0f);
    const at::Tensor panels = at::full({panel_floats(spec.columns, spec.depth, table().panel)}, 9.0f);
    std::vector<void*> addresses{a.data_ptr(), b.data_ptr()};
    at::Tensor narrow;
    if (kernel == table().packed || is_narrow(kernel)) {
      void* packing[] = {b.data_ptr(), panels.data_ptr()};
      ASSERT_TRUE(table().pack(&spec, packing));
      narrow = panels.to(stored(kernel));
      addresses[1] = narrow.data_ptr();
    }
    if (bias.defined()) addresses.push_back(bias.data_ptr());
    if (addend.defined()) addresses.push_back(addend.data_ptr());
    addresses.push_back(out.data_ptr());
    addresses.push_back(panels.data_ptr());
    ASSERT_TRUE(kernel(&spec, addresses.data()));
    at::Tensor expected = at::matmul(a.to(at::kDouble), b.to(stored(kernel)).to(at::kDouble));
    if (bias.defined()) expected = expected + bias;
    if (addend.defined()) expected = expected + addend;
    if (relu) expected = at::relu(expected);
    const at::Tensor actual = out.narrow(1, 0, spec.columns);
    ASSERT_TRUE(at::allclose(actual.to(at::kDouble), expected, 1.3e-6, 1e-5, true))
        << a.sizes() << " by " << b.sizes() << " strides " << b.strides() << ": "
        << (actual.to(at::kDouble) - expected).abs().max().item<double>();
    ASSERT_TRUE(at::equal(out.narrow(1, spec.columns, kGap), at::full({spec.rows, kGap}, 7.0f)))
        << "wrote behind a row";
    const at::Tensor whole = out.clone();
    out.fill_(7.0f);
    spec.parts = 3;
    c10::ParallelGuard one_thread(true);
    ASSERT_TRUE(kernel(&spec, addresses.data()));
    ASSERT_TRUE(at::allclose(whole, out, 0, 0, true)) << a.sizes() << " by " << b.sizes() << " in parts";
  }

  void check_all(int64_t rows, int64_t depth, int64_t columns) {
    const at::Tensor a = at::randn({rows, depth}), weight = at::randn({columns, depth}) / std::sqrt(depth + 1.0);
    const at::Tensor bias = at::randn({columns}), none;
    const at::Tensor b = weight.t(), b_rows = b.contiguous();
    const at::Tensor a_columns = a.t().contiguous().t(),
                     b_gaps = at::randn({depth, 2 * columns}).slice(1, 0, 2 * columns, 2) / 8;
    for (const BoundKernel kernel : {table().packed, table().dots, table().packing}) check(kernel, a, b, bias, false);
    check(table().rows, a, b_rows, none, true);
    check(table().rows, a_columns, b_rows, bias, false);
    check(table().packed, a_columns, b, none, true);
    check(table().packed_bfloat16, a, b, bias, false);
    check(table().packed_half, a_columns, b, none, true);
    check(table().packing, a, b_gaps, bias, true);
    check(table().packing, a, b_rows, none, false);
    check(table().dots, a, b, none, true);
    const at::Tensor addend = at::randn({rows, columns + 5}).narrow(1, 2, columns);
    for (const BoundKernel kernel : {table().packed, table().packing}) {
      check(kernel, a, b, bias, true, addend);
      check(kernel, a, b, none, false, addend);
    }
    check(table().packed_half, a, b, bias, false, addend);
    check(table().rows, a, b_rows, bias, true, addend);
  }
};

TEST_P(MatmulKernel, is_atens_for_all_sizes_of_tiles) {
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 13}) {
    for (int64_t columns : {1, 7, 8, 9, 16, 17, 31, 65, 130}) {
      for (int64_t depth : {3, 8, 13}) {
        check_all(rows, depth, columns);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(MatmulKernel, is_atens_for_blocks_of_rows_and_depth) {
  for (int64_t rows : {1, 5, 96, 97, 200}) {
    for (int64_t depth : {384, 385, 1000}) {
      check_all(rows, depth, 37);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MatmulKernel, keeps_what_is_not_a_number) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (float special : {inf, -inf, nan}) {
    const at::Tensor a = at::randn({7, 13}), weight = at::randn({21, 13});
    a[3][12] = special;
    for (const BoundKernel kernel : {table().packed, table().dots, table().packing})
      check(kernel, a, weight.t(), {}, true);
    check(table().rows, a, weight.t().contiguous(), {}, true);
    weight[20][12] = special;
    for (const BoundKernel kernel : {table().packed, table().packed_bfloat16, table().packed_half, table().dots})
      check(kernel, a, weight.t(), {}, false);
  }
}

TEST_P(MatmulKernel, reads_every_number_of_16_bits) {
  const at::Tensor bits = at::arange(int64_t{1} << 16).to(at::kShort);
  for (const BoundKernel kernel : {table().packed_bfloat16, table().packed_half}) {
    const at::Tensor panels = bits.view(stored(kernel)), one = at::ones({1, 1});
    const at::Tensor out = at::empty({1, bits.numel()});
    MatmulSpec spec;
    spec.rows = spec.depth = 1;
    spec.columns = spec.c_row = bits.numel();
    void* addresses[] = {one.data_ptr(), panels.data_ptr(), out.data_ptr()};
    ASSERT_TRUE(kernel(&spec, addresses));
    // 0 + -0 is 0
    ASSERT_TRUE(at::allclose(out[0], panels.to(at::kFloat), 0, 0, true)) << stored(kernel);
  }
}

TEST_P(MatmulKernel, of_nothing_is_nothing_or_the_bias) {
  check_all(0, 4, 3);
  check_all(3, 0, 5);
  check_all(200, 0, 5);
}

INSTANTIATE_TEST_SUITE_P(Capabilities, MatmulKernel, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

void expect_bound(const char* key, const at::Tensor& expected, std::vector<c10::IValue> arguments,
                  std::set<size_t> constants = {}) {
  BindingProbe probe(key, arguments, constants), in_parts(key, arguments, constants, 3);
  c10::ParallelGuard one_thread(true);
  ASSERT_TRUE(probe.bind() && in_parts.bind()) << key << " to " << expected.sizes();
  ASSERT_TRUE(at::equal(probe.result(), in_parts.result())) << key << " " << expected.sizes() << " in parts";
  ASSERT_EQ(probe.result().sizes(), expected.sizes()) << key;
  ASSERT_EQ(probe.result().strides(), expected.strides()) << key << " " << expected.sizes();
  ASSERT_TRUE(at::allclose(probe.result(), expected, 1.3e-6, 1e-5))
      << key << " " << expected.sizes() << ": " << (probe.result() - expected).abs().max().item<float>();
}

TEST(MatmulBinder, binds_linear) {
  c10::InferenceMode inference;
  for (int64_t columns : {1, 5, 64}) {
    const at::Tensor weight = at::randn({columns, 24}), bias = at::randn({columns});
    const at::Tensor inputs[] = {at::randn({24}),
                                 at::randn({1, 24}),
                                 at::randn({9, 24}),
                                 at::randn({2, 3, 24}),
                                 at::randn({24, 9}).t(),
                                 at::randn({4, 3, 24}).transpose(0, 1),
                                 at::randn({9, 48}).narrow(1, 7, 24),
                                 at::randn({2, 5, 48}).narrow(2, 7, 24),
                                 at::randn({1, 1, 24}),
                                 at::randn({2, 3, 4, 24}),
                                 at::randn({1, 24}).expand({5, 24})};
    for (const at::Tensor& x : inputs) {
      expect_bound("aten::linear", at::linear(x, weight, bias), {x, weight, bias}, {1, 2});
      expect_bound("aten::linear", at::linear(x, weight), {x, weight, c10::IValue()}, {1});
      expect_bound("aten::linear", at::linear(x, weight, bias), {x, weight, bias});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MatmulBinder, binds_matmul_of_all_dimensions) {
  c10::InferenceMode inference;
  const std::pair<at::Tensor, at::Tensor> pairs[] = {
      {at::randn({5}), at::randn({5})},
      {at::randn({4, 5}), at::randn({5})},
      {at::randn({5}), at::randn({5, 6})},
      {at::randn({5, 4}).t(), at::randn({5})},
      {at::randn({4, 5}), at::randn({5, 6})},
      {at::randn({4, 5}), at::randn({6, 5}).t()},
      {at::randn({2, 4, 5}), at::randn({5, 6})},
      {at::randn({2, 4, 5}), at::randn({5})},
      {at::randn({4, 5}), at::randn({3, 5, 6})},
      {at::randn({4, 5}), at::randn({3, 6, 5}).mT()},
      {at::randn({5}), at::randn({3, 5, 6})},
      {at::randn({3, 4, 5}), at::randn({3, 5, 6})},
      {at::randn({3, 4, 5}), at::randn({1, 5, 6})},
      {at::randn({2, 1, 4, 5}), at::randn({3, 5, 6})},
      {at::randn({2, 3, 4, 5}), at::randn({2, 3, 6, 5}).mT()},
      {at::randn({2, 4, 3, 5}).transpose(1, 2), at::randn({2, 6, 3, 5}).permute({0, 2, 3, 1})},
      {at::randn({2, 4, 3, 5}).transpose(1, 2), at::randn({2, 5, 3, 6}).transpose(1, 2)},
      {at::randn({64, 1, 32}), at::randn({64, 32, 1})},
      {at::randn({1, 1, 32}), at::randn({1, 32, 1})},
      {at::randn({64, 9, 16}), at::randn({64, 9, 16}).mT()},
      {at::randn({2, 7, 9, 16}), at::randn({16, 3})},
  };
  for (const auto& [a, b] : pairs) {
    expect_bound("aten::matmul", at::matmul(a, b), {a, b});
    expect_bound("aten::matmul", at::matmul(a, b), {a, b}, {1});
    if (a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0)) {
      expect_bound("aten::bmm", at::bmm(a, b), {a, b});
      expect_bound("aten::baddbmm", at::baddbmm(at::ones({b.size(2)}), a, b), {at::ones({b.size(2)}), a, b, 1, 1});
    }
    if (a.dim() == 2 && b.dim() == 2) {
      const at::Tensor row = at::randn({6}), whole = at::randn({4, 6});
      expect_bound("aten::mm", at::mm(a, b), {a, b}, {1});
      expect_bound("aten::addmm", at::addmm(row, a, b), {row, a, b, 1, 1.0}, {1});
      expect_bound("aten::addmm", at::addmm(whole, a, b), {whole, a, b, 1, 1});
      EXPECT_FALSE(BindingProbe("aten::addmm", {row, a, b, 2, 1}).bind());
      EXPECT_FALSE(BindingProbe("aten::addmm", {at::ones({4, 1}), a, b, 1, 1}).bind());
    }
    if (HasFatalFailure()) return;
  }
}

TEST(MatmulBinder, takes_a_dot_product_of_each_batch) {
  for (int64_t batches : {1, 2, 7, 8, 9, 20}) {
    for (int64_t depth : {1, 15, 16, 32, 51, 127, 128, 129, 300}) {
      // Sums of whole numbers are exact, in whatever order.
      const auto whole = [](at::IntArrayRef sizes) { return at::randint(-9, 10, sizes, at::kFloat); };
      const at::Tensor a = whole({batches, 1, depth}), b = whole({batches, depth, 1}), bias = whole({batches, 1, 1});
      const at::Tensor spread = whole({batches, 2, depth + 3}).narrow(1, 1, 1).narrow(2, 2, depth);
      expect_bound("aten::bmm", at::bmm(a, b), {a, b});
      expect_bound("aten::bmm", at::bmm(spread, b), {spread, b});
      expect_bound("aten::baddbmm", at::baddbmm(bias, spread, b), {bias, spread, b, 1, 1});
      const at::Tensor outer = at::stack({a, spread}), inner = b.transpose(1, 2).contiguous().transpose(1, 2);
      expect_bound("aten::matmul", at::matmul(outer, inner), {outer, inner});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MatmulBinder, leaves_the_rest_to_libtorch) {
  const at::Tensor doubles = at::randn({4, 4}, at::kDouble), floats = at::randn({4, 4});
  EXPECT_FALSE(BindingProbe("aten::mm", {doubles, doubles}).bind());
  EXPECT_FALSE(BindingProbe("aten::mm", {floats, at::randn({5, 4})}).bind());
  EXPECT_FALSE(BindingProbe("aten::mm", {at::empty({1024, 1024}), at::empty({1024, 1024})}).bind());
  EXPECT_FALSE(BindingProbe("aten::linear", {floats, floats, at::randn({5})}).bind());
}

}  // namespace
}  // namespace stator
