// Bound kernels against ATen's, in each table that this CPU can run.
#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/dispatch.h"

namespace stator {
namespace {

constexpr int64_t kTails = 68;  // more than two of the widest vectors, four times unrolled

std::vector<const KernelTable*> usable_tables() {
  std::vector<const KernelTable*> tables{find_kernels("DEFAULT")};
#ifdef STATOR_HAVE_AVX2_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(find_kernels("AVX2"));
#endif
#ifdef STATOR_HAVE_AVX512_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    tables.push_back(find_kernels("AVX512"));
  }
#endif
  return tables;
}

class Kernels : public testing::TestWithParam<const KernelTable*> {
 protected:
  const PointwiseKernels& table() const { return *GetParam()->pointwise; }
};

// Numbers that go wrong in kernels, among ordinary ones; `shift` lets two inputs meet in all pairs over the tails.
at::Tensor numbers(at::IntArrayRef sizes, int64_t shift) {
  using Limits = std::numeric_limits<float>;
  const float special[] = {0.0f,
                           -0.0f,
                           1.0f,
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::min(),
                           Limits::max(),
                           Limits::lowest(),
                           88.8f,
                           -88.8f,
                           104.0f,
                           -104.0f,
                           1e-10f,
                           -3.5f};
  at::Tensor out = at::randn(sizes) * 4;
  float* data = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); i += 2) data[i] = special[(i / 2 + shift * (i / 32 + 1)) % std::size(special)];
  return out;
}

// `scale`: what an absolute error is measured by, where rounding may differ; 0 asks for the same bits, but for NaN's.
void expect_near(const at::Tensor& expected, const std::vector<float>& actual, const at::Tensor& scale) {
  const at::Tensor flat = expected.contiguous(), scales = scale.expand_as(expected).contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const float a = flat.const_data_ptr<float>()[i], b = actual[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b && std::signbit(a) == std::signbit(b)) continue;
    ASSERT_LE(std::abs(a - b), 1e-6f * scales.const_data_ptr<float>()[i])
        << "element " << i << " of " << flat.sizes() << ": " << a << " and " << b;
  }
  ASSERT_EQ(actual[flat.numel()], 7.0f) << "wrote behind the end";
}

// As PointwiseKernels::Size.
using Sizes = std::array<int64_t, 6>;

std::vector<float> run(BoundKernel kernel, const Sizes& sizes, float number, const at::Tensor& a, const at::Tensor& b) {
  std::vector<float> out(sizes[0] * sizes[1] + 1, 7.0f);
  kernel({.constants = {sizes, {number}}, .inputs = {a.const_data_ptr(), b.const_data_ptr()}, .output = out.data()});
  return out;
}

// How two inputs meet, by the length of a run.
struct Meeting {
  at::DimVector a, b;
  Sizes sizes;
};

std::vector<Meeting> meetings(int64_t n) {
  return {{{n}, {n}, {1, n, 1, 0, 1, 0}},    {{n}, {}, {1, n, 1, 0, 0, 0}},       {{}, {n}, {1, n, 0, 0, 1, 0}},
          {{3, n}, {n}, {3, n, 1, n, 1, 0}}, {{n}, {3, n}, {3, n, 1, 0, 1, n}},   {{3, n}, {3, 1}, {3, n, 1, n, 0, 1}},
          {{3, 1}, {n}, {3, n, 0, 1, 1, 0}}, {{3, 1}, {3, n}, {3, n, 0, 1, 1, n}}};
}

TEST_P(Kernels, add_and_mul_are_atens_for_all_tails_and_broadcasts) {
  for (int64_t n = 0; n < kTails; ++n) {
    for (const Meeting& meeting : meetings(n)) {
      const at::Tensor a = numbers(meeting.a, 0), b = numbers(meeting.b, n), exact = at::zeros({});
      expect_near(at::mul(a, b), run(table().mul, meeting.sizes, 0, a, b), exact);
      expect_near(at::add(a, b), run(table().add, meeting.sizes, 1, a, b), exact);
      // Some CPUs round the product and some do not.
      expect_near(at::add(a, b, 0.3), run(table().add, meeting.sizes, 0.3f, a, b), at::abs(a) + at::abs(b));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Kernels, sigmoid_is_atens_for_all_tails) {
  for (int64_t n = 0; n < kTails; ++n) {
    const at::Tensor a = numbers({n}, n);
    expect_near(at::sigmoid(a), run(table().sigmoid, {1, n, 1, 0, 0, 0}, 0, a, a), at::ones({}));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, Kernels, testing::ValuesIn(usable_tables()),
                         [](const auto& info) { return std::string(info.param->capability); });

TEST(KernelDispatch, follows_libtorch) {
  const KernelTable* expected = find_kernels(at::get_cpu_capability());
  EXPECT_EQ(&kernels(), expected ? expected : find_kernels("DEFAULT"));
  EXPECT_EQ(find_kernels("none"), nullptr);
}

}  // namespace
}  // namespace stator
