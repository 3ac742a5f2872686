// Reductions, softmax and normalisations by bound kernels, against LibTorch's operators, in each table that this CPU can run.
#include <limits>

#include "bound_operators.h"

namespace stator {
namespace {

using Arguments = std::vector<c10::IValue>;
using Ints = std::vector<int64_t>;

class BoundRows : public testing::TestWithParam<const KernelTable*> {
 protected:
  void expect(const char* key, Arguments arguments, bool constants = false) {
    expect_bound(*GetParam(), key, std::move(arguments), constants);
  }
};

// With NaN and infinities in some rows.
at::Tensor odd(at::Tensor tensor) {
  const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  at::Tensor flat = tensor.view(-1);
  for (int64_t i = 0; i < 3; ++i) flat[(i * 37 + 11) % flat.numel()] = odd[i];
  return tensor;
}

// Reduced along dimension 1; tails of all vectors, rows longer than blocks, strides.
std::vector<at::Tensor> inputs() {
  std::vector<at::Tensor> all;
  for (int64_t n = 1; n < 70; ++n) {
    all.push_back(at::randn({3, n}));
    all.push_back(at::randn({2, 5, n}));
    all.push_back(at::randn({2, n, 3}));
    all.push_back(odd(at::randn({7, n})));
    all.push_back(odd(at::randn({2, n, 9})));
  }
  all.push_back(at::randn({1, 16, 128}));
  all.push_back(at::randn({2, 3}));
  all.push_back(at::randn({3, 5001}) + 100);
  all.push_back(at::randn({1, 2000, 11}) + 100);
  all.push_back(at::randn({1, 2000, 1}));
  all.push_back(at::randn({40, 6}).t());
  all.push_back(at::randn({8, 40}).slice(1, 1, 34));
  all.push_back(at::randn({4, 10, 40}).slice(2, 1, 34));
  all.push_back(at::randn({4, 33, 5}).transpose(1, 2));
  all.push_back(at::randn({2, 3, 40}).slice(2, 0, 40, 2));
  all.push_back(at::zeros({3, 20}));
  all.push_back(at::full({3, 20}, -std::numeric_limits<float>::infinity()));
  return all;
}

TEST_P(BoundRows, sums_and_their_kin_are_atens) {
  for (const at::Tensor& x : inputs()) {
    for (bool keep : {false, true}) {
      expect("aten::sum.dim_IntList", {x, Ints{1}, keep, kNone});
      expect("aten::mean.dim", {x, Ints{1}, keep, kNone});
      expect("aten::amax", {x, Ints{1}, keep});
      expect("aten::amin", {x, Ints{1}, keep});
      expect("aten::max.dim", {x, 1, keep});
      expect("aten::min.dim", {x, 1, keep});
      expect("aten::argmax", {x, 1, keep});
      expect("aten::argmin", {x, 1, keep});
      expect("aten::any.dim", {x, 1, keep});
      expect("aten::all.dim", {x, -1, keep});
      expect("aten::linalg_vector_norm", {x, 2, Ints{1}, keep, kNone});
      expect("aten::norm.ScalarOpt_dim", {x, 2, Ints{-1}, keep});
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(BoundRows, products_are_atens) {
  for (int64_t n = 1; n < 40; ++n) {
    expect("aten::prod.dim_int", {at::rand({3, n}) + 0.5, 1, false, kNone});
    expect("aten::prod.dim_int", {at::rand({3, n, 5}) + 0.5, 1, false, kNone});
    expect("aten::prod", {at::rand({n}) + 0.5, kNone});
    if (HasFatalFailure()) return;
  }
}

TEST_P(BoundRows, variances_are_atens) {
  for (const at::Tensor& x : inputs()) {
    if (x.size(1) <= 2) continue;  // corrections leave no degree of freedom, of which LibTorch warns
    for (const c10::IValue& correction :
         {c10::IValue(1), c10::IValue(0), c10::IValue(2), c10::IValue(0.5), c10::IValue()}) {
      expect("aten::var.correction", {x, Ints{1}, correction, false});
      expect("aten::std.correction", {x, Ints{1}, correction, true});
      expect("aten::var_mean.correction", {x, Ints{1}, correction, true});
      expect("aten::std_mean.correction", {x, Ints{1}, correction, true});
    }
    if (x.size(-1) > 1) expect("aten::std.dim", {x, Ints{-1}, true, false});
    if (HasFatalFailure()) return;
  }
  expect("aten::var.dim", {at::randn({16, 100}) + 3000, Ints{1}, false, false});
  expect("aten::var", {at::randn({5, 5}), true});
}

TEST_P(BoundRows, whole_tensors_and_several_dimensions_are_reduced) {
  for (const at::Tensor& x :
       {at::randn({2, 3, 4, 5}), at::randn({1, 1, 30, 40}), odd(at::randn({7, 3, 2, 1})), at::randn({1, 1, 1, 1})}) {
    for (const Ints& dims :
         {Ints{2, 3}, Ints{0, 1}, Ints{1, 2}, Ints{-1, -2}, Ints{0, 1, 2, 3}, Ints{}, Ints{1, 2, 3}}) {
      expect("aten::sum.dim_IntList", {x, dims, false, kNone});
      expect("aten::mean.dim", {x, dims, true, kNone});
      expect("aten::amax", {x, dims, false});
      expect("aten::var.correction", {x, dims, 0, false});
    }
    for (const char* key : {"aten::sum", "aten::mean"}) expect(key, {x, kNone});
    for (const char* key : {"aten::max", "aten::min", "aten::any", "aten::all"}) expect(key, {x});
    for (const char* key : {"aten::argmax", "aten::argmin"}) expect(key, {x, kNone, false});
    expect("aten::norm.Scalar", {x, 2});
    expect("aten::frobenius_norm.dim", {x, Ints{2, 3}, true});
    if (HasFatalFailure()) return;
  }
  expect("aten::sum", {at::randn({}), kNone});
  const at::Tensor last = at::randn({2, 6, 5, 4}).to(at::MemoryFormat::ChannelsLast);
  expect("aten::mean.dim", {last, Ints{2, 3}, false, kNone});
}

TEST_P(BoundRows, pooling_to_one_element_is_a_mean) {
  for (int64_t n : {1, 3, 7, 14}) {
    expect("aten::adaptive_avg_pool2d", {at::randn({2, 5, n, n + 1}), Ints{1, 1}});
    expect("aten::_adaptive_avg_pool2d", {at::randn({5, n, n + 1}), Ints{1, 1}});
    expect("aten::adaptive_avg_pool1d", {at::randn({2, 5, n}), Ints{1}});
  }
}

TEST_P(BoundRows, norms_overflow_as_atens) {
  for (double scale : {1e-25, 1e-20, 1e20, 1e30}) {
    expect("aten::linalg_vector_norm", {at::randn({3, 40}) * scale, 2, Ints{1}, false, kNone});
    expect("aten::linalg_vector_norm", {at::randn({3, 3}) * scale, 2, Ints{1}, false, kNone});
    expect("aten::linalg_vector_norm", {at::randn({3, 40, 5}) * scale, 2, Ints{1}, false, kNone});
  }
}

TEST_P(BoundRows, other_types_are_reduced) {
  for (int64_t n : {1, 3, 17, 100}) {
    const at::Tensor numbers = at::randint(-5, 5, {4, n, 3}, at::kLong),
                     flags = at::randint(0, 2, {4, n, 3}).to(at::kBool);
    for (int64_t dim = 0; dim < 3; ++dim) {
      for (const at::Tensor& x : {numbers, flags, numbers.to(at::kInt), numbers.to(at::kDouble) / 3}) {
        expect("aten::sum.dim_IntList", {x, Ints{dim}, false, kNone});
      }
      expect("aten::mean.dim", {numbers.to(at::kDouble), Ints{dim}, false, kNone});
      expect("aten::max.dim", {numbers, dim, false});
      expect("aten::argmin", {numbers, dim, false});
      expect("aten::amax", {numbers, Ints{dim}, false});
      expect("aten::amin", {numbers.to(at::kDouble), Ints{dim}, false});
      expect("aten::any.dim", {flags, dim, false});
      expect("aten::all.dim", {flags, dim, false});
    }
    expect("aten::sum", {flags, kNone});
    expect("aten::max", {numbers});
    if (HasFatalFailure()) return;
  }
}

TEST_P(BoundRows, softmax_is_atens) {
  for (const at::Tensor& base : inputs()) {
    for (double scale : {1.0, 30.0}) {
      const at::Tensor x = base * scale;  // dense, in its own order
      for (int64_t dim = 0; dim < x.dim(); ++dim) {
        if (dim == 0 && !x.is_contiguous()) continue;
        const bool strided = !x.is_contiguous() && x.dim() == 3;
        if (strided) continue;
        expect("aten::softmax.int", {x, dim, kNone});
        expect("aten::log_softmax.int", {x, dim, kNone});
        expect("aten::_softmax", {x, dim, false});
        expect("aten::_log_softmax", {x, dim, false});
        expect("aten::cumsum", {x, dim, kNone});
      }
      if (x.is_contiguous()) expect("aten::logsumexp", {x, Ints{x.dim() - 1}, true});
    }
    if (HasFatalFailure()) return;
  }
  expect("aten::softmax.int", {at::randn({4, 16, 20}).slice(2, 0, 16), -1, kNone});
}

TEST_P(BoundRows, norms_of_rows_are_atens) {
  for (int64_t n = 1; n < 70; ++n) {
    const at::Tensor x = at::randn({2, 3, n}) * 2 + 1, weight = at::randn({n}), bias = at::randn({n});
    for (const Arguments& by :
         {Arguments{weight, bias}, Arguments{weight, kNone}, Arguments{kNone, bias}, Arguments{kNone, kNone}}) {
      expect("aten::layer_norm", {x, Ints{n}, by[0], by[1], 1e-5, true});
      expect("aten::native_layer_norm", {x, Ints{n}, by[0], by[1], 1e-12});
      expect("aten::rms_norm", {x, Ints{n}, by[0], kNone});
      expect("aten::_fused_rms_norm", {x, Ints{n}, by[0], 1e-6});
    }
    if (HasFatalFailure()) return;
  }
  expect("aten::layer_norm", {at::randn({16, 2000}), Ints{2000}, kNone, kNone, 1e-5, true}, true);
  expect("aten::layer_norm", {odd(at::randn({16, 30})), Ints{30}, kNone, kNone, 1e-5, true});
  expect("aten::native_layer_norm", {at::randn({4, 5, 6}), Ints{5, 6}, at::randn({5, 6}), kNone, 1e-5});
  expect("aten::layer_norm", {at::randn({4, 40}).slice(1, 0, 33), Ints{33}, kNone, kNone, 1e-5, true});
}

TEST_P(BoundRows, norms_of_groups_and_channels_are_atens) {
  for (int64_t n : {1, 2, 7, 8, 9, 31, 64}) {
    const at::Tensor x = at::randn({2, 6, 1, n}), weight = at::rand({6}) + 0.5, bias = at::randn({6}),
                     mean = at::randn({6}), variance = at::rand({6}) + 0.1;
    for (const Arguments& by : {Arguments{weight, bias}, Arguments{kNone, kNone}}) {
      expect("aten::group_norm", {x, 3, by[0], by[1], 1e-5, true});
      expect("aten::native_group_norm", {x, by[0], by[1], 2, 6, n, 2, 1e-5});
      if (n > 1) expect("aten::instance_norm", {x, by[0], by[1], kNone, kNone, true, 0.1, 1e-5, true});
      for (bool constants : {false, true}) {
        for (const at::Tensor& y : {x, at::randn({n, 6}), at::randn({2, 6, 3, n}).to(at::MemoryFormat::ChannelsLast)}) {
          expect("aten::batch_norm", {y, by[0], by[1], mean, variance, false, 0.1, 1e-5, true}, constants);
        }
        expect("aten::_native_batch_norm_legit_no_training", {x, by[0], by[1], mean, variance, 0.1, 1e-5}, constants);
        expect("aten::native_batch_norm", {x, by[0], by[1], mean, variance, false, 0.1, 1e-5}, constants);
        expect("aten::instance_norm", {x, by[0], by[1], mean, variance, false, 0.1, 1e-5, true}, constants);
      }
    }
    if (HasFatalFailure()) return;
  }
}

// Which a norm magnifies, and with them what rounding their mean leaves.
TEST_P(BoundRows, norms_of_nearly_equal_numbers_are_as_in_double_precision) {
  for (int64_t n : {2, 3, 8, 17, 300}) {
    const at::Tensor x = at::randn({4, 6, n}) * 1e-3 + 3.25;
    for (const auto& [key, arguments] : std::vector<std::pair<const char*, Arguments>>{
             {"aten::layer_norm", {x, std::vector<int64_t>{n}, kNone, kNone, 1e-5, true}},
             {"aten::layer_norm", {x, std::vector<int64_t>{n}, at::rand({n}), at::randn({n}), 1e-5, true}},
             {"aten::group_norm", {x, 6, kNone, kNone, 1e-5, true}},
             {"aten::group_norm", {x, 3, at::rand({6}), at::randn({6}), 1e-5, true}},
             {"aten::instance_norm", {x, kNone, kNone, kNone, kNone, true, 0.1, 1e-5, true}}}) {
      BoundOperator call(key, arguments, false, 1);
      ASSERT_TRUE(call.bound()) << key;
      ASSERT_TRUE(call.run_in(*GetParam())) << key;
      ASSERT_LT(error_of(call.exact()[0], call.results()[0]), 2e-6) << key << " of " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, BoundRows, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

}  // namespace
}  // namespace stator
