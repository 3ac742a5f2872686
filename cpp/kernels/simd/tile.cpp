// Tile programs, by the formulas of ATen's vectorised kernels. Compiled once per CPU capability.
#include "kernels/tile.h"

#include <ATen/cpu/vec/vec.h>

#include <cstring>
#include <type_traits>

#include "kernels/simd/exponential.h"
#include "kernels/simd/share.h"

namespace stator::CPU_CAPABILITY {

extern const TileKernels tile_kernels;

namespace {

template <class T>
using Vec = at::vec::Vectorized<T>;

// out, up to three inputs, elements.
using OpRun = void (*)(void*, const void*, const void*, const void*, int64_t);

// at::vec puts a part of a vector together in memory, which takes several times as long, and rows are often short.
template <class T>
constexpr bool has_parts = std::is_same_v<T, float> && Vec<T>::size() == kWidth;

template <class T>
STATOR_INLINE Vec<T> load(const void* data, int64_t i, int64_t count) {
  const T* from = static_cast<const T*>(data) + i;
  if constexpr (has_parts<T>) {
    if (count < kWidth) return Vec<T>(Part(count).load(from));
  }
  return Vec<T>::loadu(from, static_cast<int>(count));
}

template <class T>
STATOR_INLINE void put(const Vec<T>& value, void* data, int64_t i, int64_t count) {
  T* to = static_cast<T*>(data) + i;
  if constexpr (has_parts<T>) {
    if (count < kWidth) return Part(count).store(Lanes(value), to);
  }
  value.store(to, static_cast<int>(count));
}

template <class T, class F>
void for_vectors(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + Vec<T>::size() <= n; i += Vec<T>::size()) f(i, Vec<T>::size());
  if (i < n) f(i, n - i);
}

template <class T, auto kFormula>
void unary(void* out, const void* a, const void*, const void*, int64_t n) {
  for_vectors<T>(n, [&](int64_t i, int64_t count) { put(kFormula(load<T>(a, i, count)), out, i, count); });
}

// Formulas that are inlined, where at::vec calls a function for each vector.
template <auto kFormula>
void unary_lanes(void* out, const void* a, const void*, const void*, int64_t n) {
  const auto* from = static_cast<const float*>(a);
  auto* to = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(kFormula(load(from + i)), to + i);
  if (i == n) return;
  const Part part(n - i);
  part.store(kFormula(part.load(from + i)), to + i);
}

template <auto kFormula>
void ternary_lanes(void* out, const void* a, const void* b, const void* c, int64_t n) {
  const auto *x = static_cast<const float*>(a), *y = static_cast<const float*>(b), *z = static_cast<const float*>(c);
  auto* to = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(kFormula(load(x + i), load(y + i), load(z + i)), to + i);
  if (i == n) return;
  const Part part(n - i);
  part.store(kFormula(part.load(x + i), part.load(y + i), part.load(z + i)), to + i);
}

template <class T, auto kFormula, bool kScalarA = false, bool kScalarB = false>
void binary(void* out, const void* a, const void* b, const void*, int64_t n) {
  const Vec<T> one_a(*static_cast<const T*>(a)), one_b(*static_cast<const T*>(b));
  for_vectors<T>(n, [&](int64_t i, int64_t count) {
    const Vec<T> x = kScalarA ? one_a : load<T>(a, i, count), y = kScalarB ? one_b : load<T>(b, i, count);
    put(kFormula(x, y), out, i, count);
  });
}

// Numbers are bounds, and scalars where scalars are taken.
template <bool kScalarA>
void clamp_floats(void* out, const void* a, const void* b, const void* c, int64_t n) {
  const Vec<float> one(*static_cast<const float*>(a)), least(*static_cast<const float*>(b)),
      most(*static_cast<const float*>(c));
  for_vectors<float>(n, [&](int64_t i, int64_t count) {
    put(at::vec::clamp(kScalarA ? one : load<float>(a, i, count), least, most), out, i, count);
  });
}

template <class T, auto kFormula>
void ternary(void* out, const void* a, const void* b, const void* c, int64_t n) {
  for_vectors<T>(n, [&](int64_t i, int64_t count) {
    put(kFormula(load<T>(a, i, count), load<T>(b, i, count), load<T>(c, i, count)), out, i, count);
  });
}

// Element by element: what the compiler makes vectors of, and what has no vector form.
template <class Out, class In, auto kFormula>
void unary_plain(void* out, const void* a, const void*, const void*, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) static_cast<Out*>(out)[i] = kFormula(static_cast<const In*>(a)[i]);
}

template <class Out, class In, auto kFormula>
void binary_plain(void* out, const void* a, const void* b, const void*, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    static_cast<Out*>(out)[i] = kFormula(static_cast<const In*>(a)[i], static_cast<const In*>(b)[i]);
}

// Both are loaded, whichever is chosen: without masks of their own, conditional loads take ten times as long.
template <class T>
void where(void* out, const void* condition, const void* a, const void* b, int64_t n) {
  const auto* chosen = static_cast<const float*>(condition);
#pragma GCC ivdep  // tiles are the same or apart
  for (int64_t i = 0; i < n; ++i) {
    const T one = static_cast<const T*>(a)[i], other = static_cast<const T*>(b)[i];
    static_cast<T*>(out)[i] = chosen[i] != 0.0f ? one : other;
  }
}

void mul_add_int(void* out, const void* a, const void* b, const void* c, int64_t n) {
  const auto* x = static_cast<const uint64_t*>(a);
  const auto* y = static_cast<const uint64_t*>(b);
  const auto* z = static_cast<const uint64_t*>(c);
  for (int64_t i = 0; i < n; ++i) static_cast<uint64_t*>(out)[i] = z[i] + x[i] * y[i];
}

int64_t negated(int64_t a) { return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a)); }

// What is left of a division, with the sign of what was divided by. `left`: with the sign of what was divided.
template <class T>
Vec<T> has_other_sign(const Vec<T>& left, const Vec<T>& b) {
  const Vec<T> zero(0);
  return (left != zero) & ((b < zero) ^ (left < zero));
}
template <class T>
Vec<T> remainder_of(const Vec<T>& a, const Vec<T>& b) {
  const Vec<T> left = a.fmod(b);
  return Vec<T>::blendv(left, left + b, has_other_sign(left, b));
}

// By what is left of the division, which is exact, and not by the rounded quotient. By zero it is the quotient.
template <class T>
Vec<T> floor_of_quotient(const Vec<T>& a, const Vec<T>& b) {
  using V = Vec<T>;
  const V zero(0), one(1), endless{T(__builtin_inf())}, quotient = a / b, left = a.fmod(b);
  // Where the quotient overflows fmod is of no use.
  const V even = V::blendv(a - left, a, (quotient.abs() == endless) & (a.abs() != endless));
  V whole = even / b;
  whole = V::blendv(whole, whole - one, has_other_sign(left, b));
  const V floor = whole.floor(), nearest = V::blendv(floor, floor + one, (whole - floor) > V(T(0.5)));
  return V::blendv(V::blendv(nearest, zero.copysign(quotient), whole == zero), quotient, b == zero);
}

// `most` where that is below `least`.
void clamp_int(void* out, const void* a, const void* b, const void* c, int64_t n) {
  const auto* x = static_cast<const int64_t*>(a);
  const auto* least = static_cast<const int64_t*>(b);
  const auto* most = static_cast<const int64_t*>(c);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t raised = x[i] < least[i] ? least[i] : x[i];
    static_cast<int64_t*>(out)[i] = most[i] < raised ? most[i] : raised;
  }
}

float from_bfloat16(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
uint16_t to_bfloat16(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  if (value != value) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
float from_half(uint16_t bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
uint16_t to_half(float value) { return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value)); }

// The formulas. Each says what it means to at::vec, for float and double alike.

struct OpTable {
  OpRun run[3][static_cast<int>(TileOpcode::kCount)] = {};
  // Float operators that take scalars: [a is scalar][b is scalar].
  OpRun scalar[2][2][static_cast<int>(TileOpcode::kCount)] = {};

  constexpr OpTable() {
    add_real<float>(run[0]);
    add_real<double>(run[1]);
    add_lanes(run[0]);
    add_int();
    add_casts();
    add_bools();
    add_arithmetic<false, false>(run[0]);
    add_arithmetic<false, true>(scalar[0][1]);
    add_arithmetic<true, false>(scalar[1][0]);
    add_arithmetic<true, true>(scalar[1][1]);
  }

  static constexpr OpRun& at(OpRun* table, TileOpcode code) { return table[static_cast<int>(code)]; }

  template <class T>
  static constexpr void add_real(OpRun* t) {
    using O = TileOpcode;
    using V = Vec<T>;
    at(t, O::kCopy) = unary<T, [](const V& a) { return a; }>;
    at(t, O::kNeg) = unary<T, [](const V& a) { return a.neg(); }>;
    at(t, O::kAbs) = unary<T, [](const V& a) { return a.abs(); }>;
    at(t, O::kExp) = unary<T, [](const V& a) { return a.exp(); }>;
    at(t, O::kExp2) = unary<T, [](const V& a) { return a.exp2(); }>;
    at(t, O::kExpm1) = unary<T, [](const V& a) { return a.expm1(); }>;
    at(t, O::kLog) = unary<T, [](const V& a) { return a.log(); }>;
    at(t, O::kLog2) = unary<T, [](const V& a) { return a.log2(); }>;
    at(t, O::kLog10) = unary<T, [](const V& a) { return a.log10(); }>;
    at(t, O::kLog1p) = unary<T, [](const V& a) { return a.log1p(); }>;
    at(t, O::kSqrt) = unary<T, [](const V& a) { return a.sqrt(); }>;
    at(t, O::kRsqrt) = unary<T, [](const V& a) { return V(1) / a.sqrt(); }>;
    at(t, O::kReciprocal) = unary<T, [](const V& a) { return V(1) / a; }>;
    at(t, O::kSin) = unary<T, [](const V& a) { return a.sin(); }>;
    at(t, O::kCos) = unary<T, [](const V& a) { return a.cos(); }>;
    at(t, O::kTan) = unary<T, [](const V& a) { return a.tan(); }>;
    at(t, O::kAsin) = unary<T, [](const V& a) { return a.asin(); }>;
    at(t, O::kAcos) = unary<T, [](const V& a) { return a.acos(); }>;
    at(t, O::kAtan) = unary<T, [](const V& a) { return a.atan(); }>;
    at(t, O::kSinh) = unary<T, [](const V& a) { return a.sinh(); }>;
    at(t, O::kCosh) = unary<T, [](const V& a) { return a.cosh(); }>;
    at(t, O::kAsinh) = unary<T, [](const V& a) { return a.asinh(); }>;
    at(t, O::kAcosh) = unary<T, [](const V& a) { return a.acosh(); }>;
    at(t, O::kAtanh) = unary<T, [](const V& a) { return a.atanh(); }>;
    at(t, O::kTanh) = unary<T, [](const V& a) { return a.tanh(); }>;
    at(t, O::kSigmoid) = unary<T, [](const V& a) { return V(1) / (V(1) + (V(0) - a).exp()); }>;
    at(t, O::kRelu) = unary<T, [](const V& a) { return at::vec::clamp_min(a, V(0)); }>;
    at(t, O::kFloor) = unary<T, [](const V& a) { return a.floor(); }>;
    at(t, O::kCeil) = unary<T, [](const V& a) { return a.ceil(); }>;
    at(t, O::kRound) = unary<T, [](const V& a) { return a.round(); }>;
    at(t, O::kTrunc) = unary<T, [](const V& a) { return a.trunc(); }>;
    at(t, O::kFrac) = unary<T, [](const V& a) { return a - a.trunc(); }>;
    at(t, O::kSign) = unary_plain<T, T, [](T a) { return static_cast<T>((T(0) < a) - (a < T(0))); }>;
    at(t, O::kSquare) = unary<T, [](const V& a) { return a * a; }>;
    at(t, O::kErf) = unary<T, [](const V& a) { return a.erf(); }>;
    at(t, O::kErfc) = unary<T, [](const V& a) { return a.erfc(); }>;
    at(t, O::kLgamma) = unary<T, [](const V& a) { return a.lgamma(); }>;
    at(t, O::kSilu) = unary<T, [](const V& a) { return a / (V(1) + a.neg().exp()); }>;
    at(t, O::kGelu) =
        unary<T, [](const V& a) { return a * V(T(0.5)) * (V(1) + (a * V(T(0.70710678118654752440))).erf()); }>;
    at(t, O::kGeluTanh) = unary<T, [](const V& a) {
      const V inner = V(T(0.79788456080286535588)) * (a + V(T(0.044715)) * a * a * a);
      return V(T(0.5)) * a * (V(1) + inner.tanh());
    }>;
    at(t, O::kHardswish) =
        unary<T, [](const V& a) { return a * at::vec::minimum(at::vec::maximum(a + V(3), V(0)), V(6)) / V(6); }>;
    at(t, O::kHardsigmoid) =
        unary<T, [](const V& a) { return at::vec::minimum(at::vec::maximum(a + V(3), V(0)), V(6)) / V(6); }>;
    at(t, O::kMish) = unary<T, [](const V& a) { return a * a.exp().log1p().tanh(); }>;
    at(t, O::kAdd) = binary<T, [](const V& a, const V& b) { return a + b; }>;
    at(t, O::kSub) = binary<T, [](const V& a, const V& b) { return a - b; }>;
    at(t, O::kMul) = binary<T, [](const V& a, const V& b) { return a * b; }>;
    at(t, O::kDiv) = binary<T, [](const V& a, const V& b) { return a / b; }>;
    at(t, O::kMax) = binary<T, [](const V& a, const V& b) { return at::vec::maximum(a, b); }>;
    at(t, O::kMin) = binary<T, [](const V& a, const V& b) { return at::vec::minimum(a, b); }>;
    at(t, O::kClampMin) = binary<T, [](const V& a, const V& b) { return at::vec::clamp_min(a, b); }>;
    at(t, O::kClampMax) = binary<T, [](const V& a, const V& b) { return at::vec::clamp_max(a, b); }>;
    at(t, O::kPow) = binary<T, [](const V& a, const V& b) { return a.pow(b); }>;
    at(t, O::kAtan2) = binary<T, [](const V& a, const V& b) { return a.atan2(b); }>;
    at(t, O::kHypot) = binary<T, [](const V& a, const V& b) { return a.hypot(b); }>;
    at(t, O::kCopysign) = binary<T, [](const V& a, const V& b) { return a.copysign(b); }>;
    at(t, O::kDivFloor) = binary<T, floor_of_quotient<T>>;
    at(t, O::kFmod) = binary<T, [](const V& a, const V& b) { return a.fmod(b); }>;
    at(t, O::kRemainder) = binary<T, remainder_of<T>>;
    at(t, O::kEqual) = binary_plain<float, T, [](T a, T b) { return a == b ? 1.0f : 0.0f; }>;
    at(t, O::kNotEqual) = binary_plain<float, T, [](T a, T b) { return a != b ? 1.0f : 0.0f; }>;
    at(t, O::kLess) = binary_plain<float, T, [](T a, T b) { return a < b ? 1.0f : 0.0f; }>;
    at(t, O::kLessEqual) = binary_plain<float, T, [](T a, T b) { return a <= b ? 1.0f : 0.0f; }>;
    at(t, O::kGreater) = binary_plain<float, T, [](T a, T b) { return b < a ? 1.0f : 0.0f; }>;
    at(t, O::kGreaterEqual) = binary_plain<float, T, [](T a, T b) { return a >= b ? 1.0f : 0.0f; }>;
    at(t, O::kMulAdd) = ternary<T, [](const V& a, const V& b, const V& c) { return at::vec::fmadd(a, b, c); }>;
    at(t, O::kAddAdd) = ternary<T, [](const V& a, const V& b, const V& c) { return a + b + c; }>;
    at(t, O::kAddMul) = ternary<T, [](const V& a, const V& b, const V& c) { return (a + b) * c; }>;
    at(t, O::kSubMul) = ternary<T, [](const V& a, const V& b, const V& c) { return (a - b) * c; }>;
    at(t, O::kMulMul) = ternary<T, [](const V& a, const V& b, const V& c) { return a * b * c; }>;
    at(t, O::kClamp) = ternary<T, [](const V& a, const V& b, const V& c) { return at::vec::clamp(a, b, c); }>;
    at(t, O::kWhere) = where<T>;
    at(t, O::kLeakyRelu) =
        ternary<T, [](const V& a, const V& slope, const V&) { return a * V::blendv(slope, V(1), a > V(0)); }>;
    at(t, O::kElu) =
        ternary<T, [](const V& a, const V& alpha, const V&) { return V::blendv(alpha * a.expm1(), a, a > V(0)); }>;
    at(t, O::kSoftplus) = ternary<T, [](const V& a, const V& beta, const V& threshold) {
      return V::blendv((a * beta).exp().log1p() / beta, a, a * beta > threshold);
    }>;
  }

  static constexpr void add_lanes(OpRun* t) {
    at(t, TileOpcode::kExp) = unary_lanes<[](Lanes a) { return exp_of(a); }>;
    at(t, TileOpcode::kExpm1) = unary_lanes<[](Lanes a) { return expm1_of(a); }>;
    at(t, TileOpcode::kLog1p) = unary_lanes<[](Lanes a) { return log1p_of(a); }>;
    at(t, TileOpcode::kTanh) = unary_lanes<[](Lanes a) { return tanh_of(a); }>;
    at(t, TileOpcode::kSigmoid) = unary_lanes<[](Lanes a) { return logistic_of(a); }>;
    at(t, TileOpcode::kSilu) = unary_lanes<[](Lanes a) { return silu_of(a); }>;
    at(t, TileOpcode::kMish) = unary_lanes<[](Lanes a) { return mish_of(a); }>;
    at(t, TileOpcode::kGelu) = unary_lanes<[](Lanes a) { return gelu_of(a); }>;
    at(t, TileOpcode::kGeluTanh) = unary_lanes<[](Lanes a) { return gelu_tanh_of(a); }>;
    at(t, TileOpcode::kElu) = ternary_lanes<[](Lanes a, Lanes alpha, Lanes) { return elu_of(a, alpha); }>;
    at(t, TileOpcode::kSoftplus) = ternary_lanes<softplus_of>;
  }

  // The same again with scalars; here because they are the many.
  template <bool kScalarA, bool kScalarB>
  static constexpr void add_arithmetic(OpRun* t) {
    using O = TileOpcode;
    using V = Vec<float>;
    constexpr bool kA = kScalarA, kB = kScalarB;
    at(t, O::kAdd) = binary<float, [](const V& a, const V& b) { return a + b; }, kA, kB>;
    at(t, O::kSub) = binary<float, [](const V& a, const V& b) { return a - b; }, kA, kB>;
    at(t, O::kMul) = binary<float, [](const V& a, const V& b) { return a * b; }, kA, kB>;
    at(t, O::kDiv) = binary<float, [](const V& a, const V& b) { return a / b; }, kA, kB>;
    at(t, O::kMax) = binary<float, [](const V& a, const V& b) { return at::vec::maximum(a, b); }, kA, kB>;
    at(t, O::kMin) = binary<float, [](const V& a, const V& b) { return at::vec::minimum(a, b); }, kA, kB>;
    at(t, O::kClampMin) = binary<float, [](const V& a, const V& b) { return at::vec::clamp_min(a, b); }, kA, kB>;
    at(t, O::kClampMax) = binary<float, [](const V& a, const V& b) { return at::vec::clamp_max(a, b); }, kA, kB>;
    if constexpr (kB) at(t, O::kClamp) = clamp_floats<kA>;
    at(t, O::kEqual) = binary<float, [](const V& a, const V& b) { return a.eq(b); }, kA, kB>;
    at(t, O::kNotEqual) = binary<float, [](const V& a, const V& b) { return a.ne(b); }, kA, kB>;
    at(t, O::kLess) = binary<float, [](const V& a, const V& b) { return a.lt(b); }, kA, kB>;
    at(t, O::kLessEqual) = binary<float, [](const V& a, const V& b) { return a.le(b); }, kA, kB>;
    at(t, O::kGreater) = binary<float, [](const V& a, const V& b) { return a.gt(b); }, kA, kB>;
    at(t, O::kGreaterEqual) = binary<float, [](const V& a, const V& b) { return a.ge(b); }, kA, kB>;
  }

  // Overflow wraps, so it is computed without a sign.
  constexpr void add_int() {
    using O = TileOpcode;
    using U = uint64_t;
    using I = int64_t;
    OpRun* t = run[2];
    at(t, O::kCopy) = unary_plain<U, U, [](U a) { return a; }>;
    at(t, O::kNeg) = unary_plain<U, U, [](U a) { return U(0) - a; }>;
    at(t, O::kAbs) = unary_plain<U, U, [](U a) { return static_cast<I>(a) < 0 ? U(0) - a : a; }>;
    at(t, O::kRelu) = unary_plain<I, I, [](I a) { return a < 0 ? I(0) : a; }>;
    at(t, O::kSign) = unary_plain<I, I, [](I a) { return static_cast<I>((0 < a) - (a < 0)); }>;
    at(t, O::kSquare) = unary_plain<U, U, [](U a) { return a * a; }>;
    at(t, O::kWrapTo32) = unary_plain<I, I, [](I a) { return static_cast<I>(static_cast<int32_t>(a)); }>;
    at(t, O::kWrapTo16) = unary_plain<I, I, [](I a) { return static_cast<I>(static_cast<int16_t>(a)); }>;
    at(t, O::kWrapTo8) = unary_plain<I, I, [](I a) { return static_cast<I>(static_cast<int8_t>(a)); }>;
    at(t, O::kWrapToUnsigned8) = unary_plain<I, I, [](I a) { return static_cast<I>(static_cast<uint8_t>(a)); }>;
    at(t, O::kAdd) = binary_plain<U, U, [](U a, U b) { return a + b; }>;
    at(t, O::kSub) = binary_plain<U, U, [](U a, U b) { return a - b; }>;
    at(t, O::kMul) = binary_plain<U, U, [](U a, U b) { return a * b; }>;
    at(t, O::kDiv) = binary_plain<I, I, [](I a, I b) { return b == -1 ? negated(a) : a / b; }>;
    at(t, O::kDivFloor) = binary_plain<I, I, [](I a, I b) {
      if (b == -1) return negated(a);
      return a / b - (a % b != 0 && (a < 0) != (b < 0));
    }>;
    at(t, O::kFmod) = binary_plain<I, I, [](I a, I b) { return b == -1 ? I(0) : a % b; }>;
    at(t, O::kRemainder) = binary_plain<I, I, [](I a, I b) {
      const I left = b == -1 ? I(0) : a % b;
      return left != 0 && (left < 0) != (b < 0) ? left + b : left;
    }>;
    at(t, O::kBitNot) = unary_plain<U, U, [](U a) { return ~a; }>;
    at(t, O::kBitAnd) = binary_plain<U, U, [](U a, U b) { return a & b; }>;
    at(t, O::kBitOr) = binary_plain<U, U, [](U a, U b) { return a | b; }>;
    at(t, O::kBitXor) = binary_plain<U, U, [](U a, U b) { return a ^ b; }>;
    at(t, O::kShiftLeft) = binary_plain<U, U, [](U a, U b) { return b < 64 ? a << b : U(0); }>;
    at(t, O::kShiftRight) = binary_plain<I, I, [](I a, I b) { return (a >> (b < 0 || b > 63 ? 63 : b)); }>;
    at(t, O::kMax) = binary_plain<I, I, [](I a, I b) { return b < a ? a : b; }>;
    at(t, O::kMin) = binary_plain<I, I, [](I a, I b) { return a < b ? a : b; }>;
    at(t, O::kClampMin) = at(t, O::kMax);
    at(t, O::kClampMax) = at(t, O::kMin);
    at(t, O::kEqual) = binary_plain<float, I, [](I a, I b) { return a == b ? 1.0f : 0.0f; }>;
    at(t, O::kNotEqual) = binary_plain<float, I, [](I a, I b) { return a != b ? 1.0f : 0.0f; }>;
    at(t, O::kLess) = binary_plain<float, I, [](I a, I b) { return a < b ? 1.0f : 0.0f; }>;
    at(t, O::kLessEqual) = binary_plain<float, I, [](I a, I b) { return a <= b ? 1.0f : 0.0f; }>;
    at(t, O::kGreater) = binary_plain<float, I, [](I a, I b) { return b < a ? 1.0f : 0.0f; }>;
    at(t, O::kGreaterEqual) = binary_plain<float, I, [](I a, I b) { return a >= b ? 1.0f : 0.0f; }>;
    at(t, O::kMulAdd) = mul_add_int;
    at(t, O::kClamp) = clamp_int;
    at(t, O::kWhere) = where<I>;
  }

  constexpr void add_casts() {
    using O = TileOpcode;
    using I = int64_t;
    at(run[1], O::kToFloat) = unary_plain<float, double, [](double a) { return static_cast<float>(a); }>;
    at(run[2], O::kToFloat) = unary_plain<float, I, [](I a) { return static_cast<float>(a); }>;
    at(run[0], O::kToDouble) = unary_plain<double, float, [](float a) { return static_cast<double>(a); }>;
    at(run[2], O::kToDouble) = unary_plain<double, I, [](I a) { return static_cast<double>(a); }>;
    at(run[0], O::kToInt) = unary_plain<I, float, [](float a) { return static_cast<I>(a); }>;
    at(run[1], O::kToInt) = unary_plain<I, double, [](double a) { return static_cast<I>(a); }>;
    at(run[0], O::kToBool) = unary_plain<float, float, [](float a) { return a != 0 ? 1.0f : 0.0f; }>;
    at(run[1], O::kToBool) = unary_plain<float, double, [](double a) { return a != 0 ? 1.0f : 0.0f; }>;
    at(run[2], O::kToBool) = unary_plain<float, I, [](I a) { return a != 0 ? 1.0f : 0.0f; }>;
    at(run[0], O::kRoundToBFloat16) = unary_plain<float, float, [](float a) { return from_bfloat16(to_bfloat16(a)); }>;
    at(run[0], O::kRoundToHalf) = unary_plain<float, float, [](float a) { return from_half(to_half(a)); }>;
  }

  constexpr void add_bools() {
    using O = TileOpcode;
    at(run[0], O::kAnd) = binary_plain<float, float, [](float a, float b) { return a != 0 && b != 0 ? 1.0f : 0.0f; }>;
    at(run[0], O::kOr) = binary_plain<float, float, [](float a, float b) { return a != 0 || b != 0 ? 1.0f : 0.0f; }>;
    at(run[0], O::kXor) =
        binary_plain<float, float, [](float a, float b) { return (a != 0) != (b != 0) ? 1.0f : 0.0f; }>;
    at(run[0], O::kNot) = unary_plain<float, float, [](float a) { return a == 0 ? 1.0f : 0.0f; }>;
  }
};

constexpr OpTable kOps;

// Between memory and tiles. `step`: bytes from one element in memory to the next.
using Transfer = void (*)(void* tile, void* memory, int64_t step, int64_t n);

template <class Register, class Memory, auto kConvert>
void load_elements(void* tile, void* memory, int64_t step, int64_t n) {
  auto* to = static_cast<Register*>(tile);
  const auto* from = static_cast<const char*>(memory);
  if (step == sizeof(Memory)) {
    const auto* elements = static_cast<const Memory*>(memory);
    for (int64_t i = 0; i < n; ++i) to[i] = kConvert(elements[i]);
  } else if (step == 0) {
    const Register one = kConvert(*static_cast<const Memory*>(memory));
    for (int64_t i = 0; i < n; ++i) to[i] = one;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = kConvert(*reinterpret_cast<const Memory*>(from + i * step));
  }
}

template <class Register, class Memory, auto kConvert>
void store_elements(void* tile, void* memory, int64_t step, int64_t n) {
  const auto* from = static_cast<const Register*>(tile);
  auto* to = static_cast<char*>(memory);
  if (step == sizeof(Memory)) {
    auto* elements = static_cast<Memory*>(memory);
    for (int64_t i = 0; i < n; ++i) elements[i] = kConvert(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Memory*>(to + i * step) = kConvert(from[i]);
  }
}

// Floats that lie side by side need no conversion, and rows of them are often short.
STATOR_INLINE void copy_floats(const void* from, void* to, int64_t n) {
  const auto* in = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(load(in + i), out + i);
  if (i == n) return;
  const Part rest(n - i);
  rest.store(rest.load(in + i), out + i);
}

struct Element {
  int64_t bytes, register_bytes;
  Transfer load, store;
};

template <class Register, class Memory>
constexpr Element plain_element() {
  return {sizeof(Memory), sizeof(Register),
          load_elements<Register, Memory, [](Memory a) { return static_cast<Register>(a); }>,
          store_elements<Register, Memory, [](Register a) { return static_cast<Memory>(a); }>};
}

void load_floats(void* tile, void* memory, int64_t step, int64_t n) {
  if (step == sizeof(float)) return copy_floats(memory, tile, n);
  plain_element<float, float>().load(tile, memory, step, n);
}

void store_floats(void* tile, void* memory, int64_t step, int64_t n) {
  if (step == sizeof(float)) return copy_floats(tile, memory, n);
  plain_element<float, float>().store(tile, memory, step, n);
}

// In the order of TileDtype.
constexpr Element kElements[] = {
    {4, 4, load_floats, store_floats},
    plain_element<double, double>(),
    {2, 4, load_elements<float, uint16_t, from_bfloat16>, store_elements<float, uint16_t, to_bfloat16>},
    {2, 4, load_elements<float, uint16_t, from_half>, store_elements<float, uint16_t, to_half>},
    {1, 4, load_elements<float, uint8_t, [](uint8_t a) { return a != 0 ? 1.0f : 0.0f; }>,
     store_elements<float, uint8_t, [](float a) { return static_cast<uint8_t>(a != 0); }>},
    plain_element<int64_t, int64_t>(),
    plain_element<int64_t, int32_t>(),
    plain_element<int64_t, int16_t>(),
    plain_element<int64_t, int8_t>(),
    plain_element<int64_t, uint8_t>(),
};

class Runner {
 public:
  Runner(const TileProgram& program, void* const* addresses) : program_(program), addresses_(addresses) {
    for (int r = 0; r < kTilesOfOwn; ++r) registers_[r] = tiles_[r];
    elements_ = elements_of(program);
  }

  // How many tiles the elements make up.
  static int64_t tiles_of(const TileProgram& program) {
    const int64_t elements = elements_of(program), length = program.sizes[program.dims - 1];
    return program.by_rows ? elements / length * tiles_of(program, length) : tiles_of(program, elements);
  }

  // Tiles first .. last - 1.
  void run(int64_t first, int64_t last) {
    if (first == last) return;
    set_constants();
    set_scalars();
    program_.by_rows ? run_rows(first, last) : run_tiles(first, last);
  }

 private:
  static int64_t elements_of(const TileProgram& program) {
    int64_t elements = 1;
    for (int d = 0; d < program.dims; ++d) elements *= program.sizes[d];
    return elements;
  }
  static int64_t tiles_of(const TileProgram& program, int64_t elements) {
    return (elements + program.tile_elements - 1) / program.tile_elements;
  }
  int64_t at_most_a_tile(int64_t elements) const {
    return elements < program_.tile_elements ? elements : program_.tile_elements;
  }
  int64_t most() const { return at_most_a_tile(elements_); }

  void set_constants() {
    for (int i = 0; i < program_.constant_count; ++i) {
      const TileConstant& constant = program_.constants[i];
      auto* number = const_cast<int64_t*>(&constant.as_int);
      if (constant.scalar) {
        registers_[constant.reg] = number;
      } else {
        constexpr TileDtype as_dtype[] = {TileDtype::kFloat, TileDtype::kDouble, TileDtype::kInt64};
        kElements[static_cast<int>(as_dtype[static_cast<int>(constant.type)])].load(registers_[constant.reg], number, 0,
                                                                                    most());
      }
    }
  }

  void set_scalars() {
    for (int i = 0; i < program_.load_count; ++i) {
      const TileWalk& walk = program_.loads[i];
      if (!walk.scalar) continue;
      if (walk.in_place) {
        registers_[walk.reg] = addresses_[i];
      } else {
        // A scalar that needs converting stands in a tile, whose first element it is then.
        kElements[static_cast<int>(walk.dtype)].load(registers_[walk.reg], addresses_[i], 0, most());
      }
    }
  }

  bool is_scalar(int reg) const { return program_.scalars >> reg & 1; }

  OpRun run_of(const TileOp& op) const {
    const bool a = is_scalar(op.inputs[0]), b = is_scalar(op.inputs[1]);
    const auto code = static_cast<int>(op.code);
    return a || b ? kOps.scalar[a][b][code] : kOps.run[static_cast<int>(op.type)][code];
  }

  void run_ops(int count, int64_t n) {
    for (int i = 0; i < count; ++i) {
      const TileOp& op = program_.ops[i];
      run_of(op)(registers_[op.out], registers_[op.inputs[0]], registers_[op.inputs[1]], registers_[op.inputs[2]], n);
    }
  }

  [[gnu::noinline]] void run_last_in_place(int64_t start, int64_t n) {
    const TileOp& op = program_.ops[program_.op_count - 1];
    const int store = program_.store_count - 1;
    void* base = addresses_[program_.load_count + store];
    const OpRun run = run_of(op);
    const void* inputs[3];
    int64_t steps[3];
    for (int k = 0; k < 3; ++k) {
      inputs[k] = registers_[op.inputs[k]];
      steps[k] = is_scalar(op.inputs[k]) ? 0 : sizeof(float);
    }
    for_runs(program_.stores[store], start, n, [&](int64_t done, int64_t offset, int64_t count) {
      const auto input = [&](int k) { return static_cast<const char*>(inputs[k]) + done * steps[k]; };
      run(at(base, offset), input(0), input(1), input(2), count);
    });
  }

  // Tiles of the elements in a row, over all dimensions.
  void run_tiles(int64_t first, int64_t last) {
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t start = tile * program_.tile_elements, n = at_most_a_tile(elements_ - start);
      for (int i = 0; i < program_.load_count; ++i) {
        const TileWalk& walk = program_.loads[i];
        if (walk.scalar || (walk.repeats && tile > first)) continue;
        if (walk.in_place) {
          registers_[walk.reg] = at(addresses_[i], start * bytes(walk));
        } else {
          transfer(walk, addresses_[i], kElements[static_cast<int>(walk.dtype)].load, start, n);
        }
      }
      for (int i = 0; i < program_.store_count; ++i) {
        const TileWalk& walk = program_.stores[i];
        if (walk.in_place) registers_[walk.reg] = at(addresses_[program_.load_count + i], start * bytes(walk));
      }
      run_ops(program_.op_count - program_.last_in_place, n);
      if (program_.last_in_place) run_last_in_place(start, n);
      for (int i = 0; i < program_.store_count - program_.last_in_place; ++i) {
        const TileWalk& walk = program_.stores[i];
        if (!walk.in_place)
          transfer(walk, addresses_[program_.load_count + i], kElements[static_cast<int>(walk.dtype)].store, start, n);
      }
    }
  }

  // Tiles within the innermost dimension, whose elements are one step apart wherever they lie.
  void run_rows(int64_t first, int64_t last) {
    const int inner = program_.dims - 1;
    const int64_t length = program_.sizes[inner], in_row = tiles_of(program_, length);
    int64_t index[kMostTileDims];
    int64_t row = first / in_row, start = first % in_row * program_.tile_elements;
    for (int d = inner - 1; d >= 0; row /= program_.sizes[d--]) index[d] = row % program_.sizes[d];
    for (int64_t tile = first; tile < last; ++tile) {
      run_in_row(index, start, at_most_a_tile(length - start));
      start += program_.tile_elements;
      if (start < length) continue;
      start = 0;
      for (int d = inner - 1; d >= 0 && ++index[d] == program_.sizes[d]; --d) index[d] = 0;
    }
  }

  void run_in_row(const int64_t* index, int64_t start, int64_t n) {
    const int inner = program_.dims - 1;
    const auto place = [&](const TileWalk& walk, void* base) {
      int64_t offset = start * walk.strides[inner];
      for (int d = 0; d < inner; ++d) offset += index[d] * walk.strides[d];
      return at(base, offset);
    };
    for (int i = 0; i < program_.load_count; ++i) {
      const TileWalk& walk = program_.loads[i];
      if (walk.scalar) continue;
      void* from = place(walk, addresses_[i]);
      if (walk.in_place) {
        registers_[walk.reg] = from;
      } else {
        kElements[static_cast<int>(walk.dtype)].load(registers_[walk.reg], from, walk.strides[inner], n);
      }
    }
    for (int i = 0; i < program_.store_count; ++i) {
      const TileWalk& walk = program_.stores[i];
      if (walk.in_place) registers_[walk.reg] = place(walk, addresses_[program_.load_count + i]);
    }
    run_ops(program_.op_count, n);
    for (int i = 0; i < program_.store_count; ++i) {
      const TileWalk& walk = program_.stores[i];
      if (!walk.in_place)
        kElements[static_cast<int>(walk.dtype)].store(
            registers_[walk.reg], place(walk, addresses_[program_.load_count + i]), walk.strides[inner], n);
    }
  }

  [[gnu::noinline]] void transfer(const TileWalk& walk, void* base, Transfer move, int64_t start, int64_t n) {
    const int64_t register_bytes = kElements[static_cast<int>(walk.dtype)].register_bytes;
    const int64_t step = walk.strides[program_.dims - 1];
    for_runs(walk, start, n, [&](int64_t done, int64_t offset, int64_t count) {
      move(at(registers_[walk.reg], done * register_bytes), at(base, offset), step, count);
    });
  }

  // f(elements before it, bytes from the base, elements) for each run of the innermost dimension in elements start .. start + n of the space.
  template <class F>
  void for_runs(const TileWalk& walk, int64_t start, int64_t n, const F& f) {
    const int inner = program_.dims - 1, outer = inner - 1;
    const int64_t length = program_.sizes[inner], step = walk.strides[inner];
    const int64_t rows = inner > 0 ? program_.sizes[outer] : 1, row_step = inner > 0 ? walk.strides[outer] : 0;
    int64_t index[kMostTileDims] = {};
    int64_t x = 0, row = 0, offset = 0;
    if (start > 0) {
      x = start % length;
      row = start / length % rows;
      offset = row * row_step;
      int64_t rest = start / length / rows;
      for (int d = outer - 1; d >= 0 && rest > 0; --d) {
        index[d] = rest % program_.sizes[d];
        rest /= program_.sizes[d];
        offset += index[d] * walk.strides[d];
      }
    }
    for (int64_t done = 0; done < n; row = 0) {
      for (; row < rows && done < n; ++row, x = 0, offset += row_step) {
        const int64_t count = length - x < n - done ? length - x : n - done;
        f(done, offset + x * step, count);
        done += count;
      }
      offset -= rows * row_step;
      for (int d = outer - 1; d >= 0; --d) {
        offset += walk.strides[d];
        if (++index[d] < program_.sizes[d]) break;
        offset -= program_.sizes[d] * walk.strides[d];
        index[d] = 0;
      }
    }
  }

  static void* at(void* base, int64_t offset) { return static_cast<char*>(base) + offset; }
  static int64_t bytes(const TileWalk& walk) { return kElements[static_cast<int>(walk.dtype)].bytes; }

  const TileProgram& program_;
  void* const* addresses_;
  int64_t elements_ = 0;
  void* registers_[kMostTileRegisters];
  alignas(64) char tiles_[kTilesOfOwn][kTileElements * sizeof(double)];
};

bool run(const void* specification, void* const* addresses) {
  const auto& program = *static_cast<const TileProgram*>(specification);
  share(program.parts, Runner::tiles_of(program),
        [&](int64_t first, int64_t last) { Runner(program, addresses).run(first, last); });
  return true;
}

}  // namespace

const TileKernels tile_kernels{run};

}  // namespace stator::CPU_CAPABILITY
