// Exponential functions of vectors that stay in registers. Everything here is of one file and one capability.
#pragma once

#include "kernels/simd/lanes.h"

namespace stator::CPU_CAPABILITY {
namespace {

// exp(x) for x <= 0 or NaN, to about one unit in the last place: 2^n exp(r) with Cephes' polynomial. 0 instead of what is denormal.
STATOR_INLINE Lanes exp_of_negative(Lanes x) {
  using Bits = int32_t __attribute__((vector_size(sizeof(Lanes))));
  constexpr float kLeast = -87.3f,
                  kRounding = 12582912.0f;  // added to a number, its last bits are the number's integer
  const Lanes inside = x < kLeast ? all_lanes(kLeast) : x;
  const Lanes shifted = fused(inside, all_lanes(1.44269504f), all_lanes(kRounding));
  const Lanes n = shifted - kRounding;
  const Lanes r = fused(n, all_lanes(2.12194440e-4f), fused(n, all_lanes(-0.693359375f), inside));
  Lanes p = fused(all_lanes(1.9875691500e-4f), r, all_lanes(1.3981999507e-3f));
  p = fused(p, r, all_lanes(8.3334519073e-3f));
  p = fused(p, r, all_lanes(4.1665795894e-2f));
  p = fused(p, r, all_lanes(1.6666665459e-1f));
  p = fused(p, r, all_lanes(5.0000001201e-1f));
  p = fused(p, r * r, r + 1.0f);
  Bits bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits << 23) + 0x3f800000;
  Lanes power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return x < kLeast ? Lanes{} : p * power;
}

// 1 / (1 + exp(-x))
STATOR_INLINE Lanes sigmoid_of(Lanes x) {
  const Lanes e = exp_of_negative(x > Lanes{} ? -x : x);
  return (x < Lanes{} ? e : all_lanes(1.0f)) / (e + 1.0f);
}

// Near 0 Cephes' polynomial, where the other form would lose digits; x itself where its cube is below rounding: there products would be denormal,
// each of which takes an Intel processor some hundred cycles.
STATOR_INLINE Lanes tanh_of(Lanes x) {
  constexpr float kTiny = 0x1p-12f;
  const Lanes size = x < Lanes{} ? -x : x;
  const Lanes some = size < kTiny ? Lanes{} : size, square = some * some;
  Lanes p = fused(all_lanes(-5.70498872745e-3f), square, all_lanes(2.06390887954e-2f));
  p = fused(p, square, all_lanes(-5.37397155531e-2f));
  p = fused(p, square, all_lanes(1.33314422036e-1f));
  p = fused(p, square, all_lanes(-3.33332819422e-1f));
  const Lanes e = exp_of_negative(some * -2.0f), far = (1.0f - e) / (e + 1.0f);
  const Lanes result = some < 0.625f ? fused(p * square, some, some) : far;
  return size < kTiny ? x : x < Lanes{} ? -result : result;
}

// To 1.5e-7, as ATen has it: Abramowitz and Stegun 7.1.26.
STATOR_INLINE Lanes erf_of(Lanes x) {
  const Lanes size = x < Lanes{} ? -x : x;
  const Lanes t = 1.0f / fused(size, all_lanes(0.3275911f), all_lanes(1.0f));
  Lanes p = fused(all_lanes(1.061405429f), t, all_lanes(-1.453152027f));
  p = fused(p, t, all_lanes(1.421413741f));
  p = fused(p, t, all_lanes(-0.284496736f));
  p = fused(p, t, all_lanes(0.254829592f));
  const Lanes far = 1.0f - p * t * exp_of_negative(-x * x);
  return x < Lanes{} ? -far : far;
}

STATOR_INLINE Lanes gelu_of(Lanes x) { return x * 0.5f * (1.0f + erf_of(x * 0.70710678f)); }

STATOR_INLINE Lanes gelu_tanh_of(Lanes x) {
  return x * 0.5f * (1.0f + tanh_of(0.79788456f * (x + 0.044715f * x * x * x)));
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
