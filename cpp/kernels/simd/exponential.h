// Exponential functions of vectors that stay in registers. Everything here is of one file and one capability.
#pragma once

#include "kernels/simd/lanes.h"

namespace stator::CPU_CAPABILITY {
namespace {

// exp(x) = p * power, for -87.3 <= x <= 0 or NaN.
struct Exponential {
  Lanes p, power;
};

// Added to a number, its last bits are the number's integer.
constexpr float kRounding = 12582912.0f;

// 2^n exp(r) with Cephes' polynomial, in pairs of its terms (Estrin), which wait for fewer results. `shifted` is x / log(2) + kRounding.
STATOR_INLINE Exponential exponential_of(Lanes x, Lanes shifted) {
  const Lanes n = shifted - kRounding;
  const Lanes r = fused(n, all_lanes(2.12194440e-4f), fused(n, all_lanes(-0.693359375f), x)), square = r * r;
  Lanes p = fused(all_lanes(1.9875691500e-4f), r, all_lanes(1.3981999507e-3f));
  p = fused(p, square, fused(all_lanes(8.3334519073e-3f), r, all_lanes(4.1665795894e-2f)));
  p = fused(p, square, fused(all_lanes(1.6666665459e-1f), r, all_lanes(5.0000001201e-1f)));
  p = fused(p, square, r + 1.0f);
  return {p, from_bits((bits_of(shifted) << 23) + 0x3f800000)};
}

// exp(x) for x <= 0 or NaN, to about one unit in the last place. 0 instead of what is denormal.
STATOR_INLINE Lanes exp_of_negative(Lanes x) {
  constexpr float kLeast = -87.3f;
  const Lanes inside = x < kLeast ? all_lanes(kLeast) : x;
  const auto [p, power] = exponential_of(inside, fused(inside, all_lanes(1.44269504f), all_lanes(kRounding)));
  return x < kLeast ? Lanes{} : p * power;
}

// 1 / (1 + exp(-x))
STATOR_INLINE Lanes sigmoid_of(Lanes x) {
  const Lanes e = exp_of_negative(x > Lanes{} ? -x : x);
  return (x < Lanes{} ? e : all_lanes(1.0f)) / (e + 1.0f);
}

// Near 0 Cephes' polynomial, where the other form would lose digits; x itself where its cube is below rounding: there products would be denormal,
// each of which takes an Intel processor some hundred cycles. What makes the result wait is kept short: recurrent networks do nothing else.
STATOR_INLINE Lanes tanh_of(Lanes x) {
  constexpr float kTiny = 0x1p-12f, kOneFrom = 10.0f;
  const Lanes size = magnitude_of(x);
  // As integers: of numbers without a sign the order is the same, and it is known sooner.
  LaneBits bits = bits_of(size);
  bits = bits < bits_of(all_lanes(kTiny)) ? bits_of(all_lanes(kTiny)) : bits;
  bits = bits > bits_of(all_lanes(kOneFrom)) ? bits_of(all_lanes(kOneFrom)) : bits;
  const Lanes some = from_bits(bits), square = some * some;
  Lanes near = fused(all_lanes(-5.70498872745e-3f), square, all_lanes(2.06390887954e-2f));
  near = fused(near, square, all_lanes(-5.37397155531e-2f));
  near = fused(near, square, all_lanes(1.33314422036e-1f));
  near = fused(near, square, all_lanes(-3.33332819422e-1f));
  near = fused(near * square, some, some);
  const auto [p, power] = exponential_of(some * -2.0f, fused(some, all_lanes(-2 * 1.44269504f), all_lanes(kRounding)));
  const Lanes far = fused(-p, power, all_lanes(1.0f)) / fused(p, power, all_lanes(1.0f));
  return size >= kTiny ? negated_as(x, some < 0.625f ? near : far) : x;  // x if it is NaN
}

// To 1.5e-7, as ATen has it: Abramowitz and Stegun 7.1.26.
STATOR_INLINE Lanes erf_of(Lanes x) {
  const Lanes size = magnitude_of(x);
  const Lanes t = 1.0f / fused(size, all_lanes(0.3275911f), all_lanes(1.0f));
  Lanes p = fused(all_lanes(1.061405429f), t, all_lanes(-1.453152027f));
  p = fused(p, t, all_lanes(1.421413741f));
  p = fused(p, t, all_lanes(-0.284496736f));
  p = fused(p, t, all_lanes(0.254829592f));
  const Lanes far = 1.0f - p * t * exp_of_negative(-x * x);
  return negated_as(x, far);
}

STATOR_INLINE Lanes gelu_of(Lanes x) { return x * 0.5f * (1.0f + erf_of(x * 0.70710678f)); }

STATOR_INLINE Lanes gelu_tanh_of(Lanes x) {
  return x * 0.5f * (1.0f + tanh_of(0.79788456f * (x + 0.044715f * x * x * x)));
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
