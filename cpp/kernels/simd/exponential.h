// Exponential functions of vectors that stay in registers. Everything here is of one file and one capability.
#pragma once

#include "kernels/simd/lanes.h"

namespace stator::CPU_CAPABILITY {
namespace {

// exp(x) = p * power, for -87.3 <= x <= 88 or NaN.
struct Exponential {
  Lanes p, power;
};

// Added to a number, its last bits are the number's integer.
constexpr float kRounding = 12582912.0f;

// x less n log(2).
STATOR_INLINE Lanes rest_of(Lanes x, Lanes n) {
  return fused(n, all_lanes(2.12194440e-4f), fused(n, all_lanes(-0.693359375f), x));
}

// (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2: Cephes' polynomial, in pairs of its terms (Estrin), which wait for fewer results.
STATOR_INLINE Lanes beyond_linear(Lanes r, Lanes square) {
  Lanes p = fused(all_lanes(1.9875691500e-4f), r, all_lanes(1.3981999507e-3f));
  p = fused(p, square, fused(all_lanes(8.3334519073e-3f), r, all_lanes(4.1665795894e-2f)));
  return fused(p, square, fused(all_lanes(1.6666665459e-1f), r, all_lanes(5.0000001201e-1f)));
}

// 2^n exp(r). `shifted` is x / log(2) + kRounding.
STATOR_INLINE Exponential exponential_of(Lanes x, Lanes shifted) {
  const Lanes r = rest_of(x, shifted - kRounding), square = r * r;
  return {fused(beyond_linear(r, square), square, r + 1.0f), from_bits((bits_of(shifted) << 23) + 0x3f800000)};
}

// exp(x) for x <= 0 or NaN, to about one unit in the last place. 0 instead of what is denormal.
STATOR_INLINE Lanes exp_of_negative(Lanes x) {
  constexpr float kLeast = -87.3f;
  const Lanes inside = x < kLeast ? all_lanes(kLeast) : x;
  const auto [p, power] = exponential_of(inside, fused(inside, all_lanes(1.44269504f), all_lanes(kRounding)));
  return x < kLeast ? Lanes{} : p * power;
}

// p 2^n, rounded once where that is denormal. `shifted` is n + kRounding.
STATOR_INLINE Lanes scaled(Lanes p, Lanes shifted) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_scalef_ps(p, shifted - kRounding);
#else
  const LaneBits n = bits_of(shifted) - bits_of(all_lanes(kRounding)), half = n >> 1;
  return p * from_bits((half << 23) + 0x3f800000) * from_bits(((n - half) << 23) + 0x3f800000);
#endif
}

// exp(x) for any x, to about one unit in the last place.
STATOR_INLINE Lanes exp_of(Lanes x) {
  const Lanes inside = clamped(x, -105.0f, 89.0f);  // beyond these it is 0 and infinite
  const Lanes shifted = fused(inside, all_lanes(1.44269504f), all_lanes(kRounding));
  return scaled(exponential_of(inside, shifted).p, shifted);
}

// exp(x) - 1 without loss near 0: 2^n (exp(r) - 1) + 2^n - 1, of halves, because 2^n may be infinite where the result is not.
STATOR_INLINE Lanes expm1_of(Lanes x) {
  const Lanes inside = clamped(x, -20.0f, 89.0f);  // beyond these it is -1 and infinite
  const Lanes shifted = fused(inside, all_lanes(1.44269504f), all_lanes(kRounding));
  const Lanes r = rest_of(inside, shifted - kRounding), square = r * r;
  const Lanes half_power = from_bits((bits_of(shifted) << 23) + 0x3f000000);
  const Lanes half = fused(half_power, fused(beyond_linear(r, square), square, r), half_power - 0.5f);
  return x == Lanes{} ? x : half + half;  // -0 stays
}

// log(x) for finite x that is not denormal, with Cephes' polynomial.
STATOR_INLINE Lanes log_of_normal(Lanes x) {
  constexpr float kRootOfHalf = 0.70710678f;
  const LaneBits exponent = (bits_of(x) >> 23) - 126;
  const Lanes part = from_bits((bits_of(x) & 0x007fffff) | 0x3f000000);  // in [1/2, 1)
  const Lanes n = __builtin_convertvector(exponent, Lanes) - (part < kRootOfHalf ? all_lanes(1.0f) : Lanes{});
  const Lanes m = (part < kRootOfHalf ? part + part : part) - 1.0f, square = m * m, fourth = square * square;
  const Lanes high = fused(fused(all_lanes(7.0376836292e-2f), m, all_lanes(-1.1514610310e-1f)), square,
                           fused(all_lanes(1.1676998740e-1f), m, all_lanes(-1.2420140846e-1f)));
  const Lanes low = fused(fused(all_lanes(1.4249322787e-1f), m, all_lanes(-1.6668057665e-1f)), square,
                          fused(all_lanes(2.0000714765e-1f), m, all_lanes(-2.4999993993e-1f)));
  const Lanes p = fused(fused(high, fourth, low), m, all_lanes(3.3333331174e-1f)) * m * square;
  const Lanes small = fused(all_lanes(-0.5f), square, fused(n, all_lanes(-2.12194440e-4f), p));
  return fused(n, all_lanes(0.693359375f), m + small);
}

// log(1 + x): what rounding takes off 1 + x is added again, divided by it.
STATOR_INLINE Lanes log1p_of(Lanes x) {
  constexpr float kEndless = __builtin_inff();
  const Lanes sum = x + 1.0f, lost = x - (sum - 1.0f);
  Lanes result = log_of_normal(sum) + lost / sum;
  result = sum < kEndless ? result : x;  // or NaN
  result = sum > Lanes{} || sum != sum ? result : sum < Lanes{} ? all_lanes(__builtin_nanf("")) : all_lanes(-kEndless);
  return x == Lanes{} ? x : result;  // -0 stays
}

// As ATen has them, for any x.
STATOR_INLINE Lanes logistic_of(Lanes x) { return 1.0f / (1.0f + exp_of(-x)); }
STATOR_INLINE Lanes silu_of(Lanes x) { return x / (1.0f + exp_of(-x)); }
STATOR_INLINE Lanes elu_of(Lanes x, Lanes alpha) { return x > Lanes{} ? x : alpha * expm1_of(x); }
STATOR_INLINE Lanes softplus_of(Lanes x, Lanes beta, Lanes threshold) {
  const Lanes scaled_x = x * beta;
  return scaled_x > threshold ? x : log1p_of(exp_of(scaled_x)) / beta;
}
// x tanh(log(1 + e)) with e = exp(x), which is x (e^2 + 2 e) / (e^2 + 2 e + 2).
STATOR_INLINE Lanes mish_of(Lanes x) {
  const Lanes e = exp_of(x), some = fused(e, e, e + e);
  return x > 20.0f ? x : x * (some / (some + 2.0f));
}

// 1 / (1 + exp(-x)), 0 instead of what is denormal: sooner ready, for recurrent networks, which wait for it.
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

// To 3.5e-7, most of which is rounding: x P(x^2) / Q(x^2), fitted to erf(x) / x by least squares that were weighted anew until the error was even.
STATOR_INLINE Lanes erf_of(Lanes x) {
  constexpr float kOneFrom = 3.92f;
  const Lanes square = x * x;
  Lanes p = fused(all_lanes(2.034728141e-6f), square, all_lanes(2.874719519e-4f));
  p = fused(p, square, all_lanes(3.868135624e-3f));
  p = fused(p, square, all_lanes(5.305989832e-2f));
  p = fused(p, square, all_lanes(1.927600205e-1f));
  p = fused(p, square, all_lanes(1.128378987f));
  Lanes q = fused(all_lanes(3.807017492e-5f), square, all_lanes(1.188062364e-3f));
  q = fused(q, square, all_lanes(1.517192088e-2f));
  q = fused(q, square, all_lanes(1.150829047e-1f));
  q = fused(q, square, all_lanes(5.041608214e-1f));
  q = fused(q, square, all_lanes(1.0f));
  const Lanes inside = x * p / q;
  return magnitude_of(x) > kOneFrom ? negated_as(x, all_lanes(1.0f)) : inside;
}

STATOR_INLINE Lanes gelu_of(Lanes x) { return x * 0.5f * (1.0f + erf_of(x * 0.70710678f)); }

STATOR_INLINE Lanes gelu_tanh_of(Lanes x) {
  return x * 0.5f * (1.0f + tanh_of(0.79788456f * (x + 0.044715f * x * x * x)));
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
