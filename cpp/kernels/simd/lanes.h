// Vectors for kernels that keep many of them in registers: plain values, which compilers handle in arrays better than at::vec's classes.
// Everything here is of one file and one capability.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <cstdint>

namespace stator::CPU_CAPABILITY {
namespace {

#if defined(CPU_CAPABILITY_AVX512)
constexpr int64_t kWidth = 16;
#elif defined(CPU_CAPABILITY_AVX2)
constexpr int64_t kWidth = 8;
#else
constexpr int64_t kWidth = 4;
#endif

using Lanes = float __attribute__((vector_size(kWidth * sizeof(float))));

// What follows must be inlined, or the values would be in memory.
#define STATOR_INLINE [[gnu::always_inline]] inline

STATOR_INLINE Lanes load(const float* from) {
  Lanes value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

// Numbers of 16 bits as they lie in memory. Not c10's: their functions are inline, and would be merged across capabilities.
struct BFloat16 {
  uint16_t bits;
};
struct Half {
  uint16_t bits;
};

STATOR_INLINE Lanes load(const BFloat16* from) {
#if defined(CPU_CAPABILITY_AVX512)
  const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
#elif defined(CPU_CAPABILITY_AVX2)
  const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16));
#else
  uint32_t wide[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) wide[i] = static_cast<uint32_t>(from[i].bits) << 16;
  Lanes value;
  __builtin_memcpy(&value, wide, sizeof(value));
  return value;
#endif
}

STATOR_INLINE Lanes load(const Half* from) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(CPU_CAPABILITY_AVX2)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  // Its exponent where a float's is, 112 too low; a product with 2^112 puts that right, for numbers without an exponent as well.
  uint32_t wide[kWidth], others[kWidth];
  for (int64_t i = 0; i < kWidth; ++i) {
    wide[i] = static_cast<uint32_t>(from[i].bits & 0x7FFF) << 13;
    const uint32_t endless = (from[i].bits & 0x7C00) == 0x7C00 ? 0x7F800000 : 0;
    others[i] = static_cast<uint32_t>(from[i].bits & 0x8000) << 16 | endless;
  }
  Lanes value;
  __builtin_memcpy(&value, wide, sizeof(value));
  value = value * 0x1p112f;
  __builtin_memcpy(wide, &value, sizeof(value));
  for (int64_t i = 0; i < kWidth; ++i) wide[i] |= others[i];
  __builtin_memcpy(&value, wide, sizeof(value));
  return value;
#endif
}

STATOR_INLINE void store(Lanes value, float* to) { __builtin_memcpy(to, &value, sizeof(value)); }

STATOR_INLINE Lanes all_lanes(float number) { return number - Lanes{}; }

// a b + c
STATOR_INLINE Lanes fused(Lanes a, Lanes b, Lanes c) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(CPU_CAPABILITY_AVX2)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// A NaN stays.
STATOR_INLINE Lanes relu_of(Lanes value) { return value < Lanes{} ? Lanes{} : value; }

// What is below `least` made that, then what is above `most`. A NaN stays.
STATOR_INLINE Lanes clamped(Lanes value, float least, float most) {
  const Lanes low = all_lanes(least), high = all_lanes(most);
  value = value < low ? low : value;
  return value > high ? high : value;
}

// By lanes, the first in the lowest bit. A NaN is not.
STATOR_INLINE uint32_t not_at_least(Lanes value, Lanes least) {
#if defined(CPU_CAPABILITY_AVX512)
  return _mm512_cmp_ps_mask(value, least, _CMP_NGE_UQ);
#elif defined(CPU_CAPABILITY_AVX2)
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(value, least, _CMP_NGE_UQ)));
#else
  uint32_t lanes = 0;
  for (int64_t i = 0; i < kWidth; ++i) lanes |= value[i] >= least[i] ? 0 : 1u << i;
  return lanes;
#endif
}

STATOR_INLINE Lanes greater(Lanes a, Lanes b) { return a > b ? a : b; }

using LaneBits = int32_t __attribute__((vector_size(sizeof(Lanes))));

STATOR_INLINE LaneBits bits_of(Lanes value) {
  LaneBits bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
STATOR_INLINE Lanes from_bits(LaneBits bits) {
  Lanes value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

constexpr int32_t kAllButSign = 0x7fffffff;
STATOR_INLINE Lanes magnitude_of(Lanes value) { return from_bits(bits_of(value) & kAllButSign); }
// -value where `sign` is negative.
STATOR_INLINE Lanes negated_as(Lanes sign, Lanes value) {
  return from_bits(bits_of(value) ^ (bits_of(sign) & ~kAllButSign));
}

// The first `count` of a vector's elements, 1 at least. The others are not touched in memory, and 0 in a vector.
class Part {
 public:
  STATOR_INLINE explicit Part(int64_t count) : count_(count) {
#if defined(CPU_CAPABILITY_AVX512)
    mask_ = static_cast<__mmask16>((1u << count) - 1);
#elif defined(CPU_CAPABILITY_AVX2)
    mask_ = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#endif
  }

  STATOR_INLINE Lanes load(const float* from) const {
#if defined(CPU_CAPABILITY_AVX512)
    return _mm512_maskz_loadu_ps(mask_, from);
#elif defined(CPU_CAPABILITY_AVX2)
    return _mm256_maskload_ps(from, mask_);
#else
    Lanes value{};
    for (int64_t i = 0; i < count_; ++i) value[i] = from[i];
    return value;
#endif
  }

  STATOR_INLINE void store(Lanes value, float* to) const {
#if defined(CPU_CAPABILITY_AVX512)
    _mm512_mask_storeu_ps(to, mask_, value);
#elif defined(CPU_CAPABILITY_AVX2)
    // Masked stores are slow on some of these CPUs.
    if (count_ == kWidth) return _mm256_storeu_ps(to, value);
    __m128 rest = _mm256_castps256_ps128(value);
    if (count_ & 4) {
      _mm_storeu_ps(to, rest);
      to += 4;
      rest = _mm256_extractf128_ps(value, 1);
    }
    if (count_ & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
      to += 2;
      rest = _mm_movehl_ps(rest, rest);
    }
    if (count_ & 1) _mm_store_ss(to, rest);
#else
    for (int64_t i = 0; i < count_; ++i) to[i] = value[i];
#endif
  }

 private:
  int64_t count_;
#if defined(CPU_CAPABILITY_AVX512)
  __mmask16 mask_;
#elif defined(CPU_CAPABILITY_AVX2)
  __m256i mask_;
#endif
};

#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
// Eight numbers with the same sum.
STATOR_INLINE __m256 to_eight(Lanes value) {
#if defined(CPU_CAPABILITY_AVX512)
  return __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7) +
         __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  return value;
#endif
}
#endif

STATOR_INLINE float sum_of(Lanes value) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  const __m256 eight = to_eight(value);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
#else
  return (value[0] + value[2]) + (value[1] + value[3]);
#endif
}

// Of numbers that are not NaN.
STATOR_INLINE float greatest_of(Lanes value) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
#if defined(CPU_CAPABILITY_AVX512)
  const __m256 eight = _mm256_max_ps(__builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7),
                                     __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15));
#else
  const __m256 eight = value;
#endif
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
#else
  float most = value[0];
  for (int64_t i = 1; i < kWidth; ++i) most = value[i] > most ? value[i] : most;
  return most;
#endif
}

// The sums of the elements of eight vectors.
STATOR_INLINE void sum_each_of_8(const Lanes (&v)[8], float (&out)[8]) {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  const __m256 s01 = _mm256_hadd_ps(to_eight(v[0]), to_eight(v[1]));
  const __m256 s23 = _mm256_hadd_ps(to_eight(v[2]), to_eight(v[3]));
  const __m256 s45 = _mm256_hadd_ps(to_eight(v[4]), to_eight(v[5]));
  const __m256 s67 = _mm256_hadd_ps(to_eight(v[6]), to_eight(v[7]));
  const __m256 low = _mm256_hadd_ps(s01, s23), high = _mm256_hadd_ps(s45, s67);
  _mm256_storeu_ps(out,
                   _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)));
#else
  for (int i = 0; i < 8; ++i) out[i] = sum_of(v[i]);
#endif
}

#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
// out[j * out_row + i] = in[i * in_row + j], 8 by 8.
STATOR_INLINE void transpose_8x8(const float* in, int64_t in_row, float* out, int64_t out_row) {
  for (int half = 0; half < 8; half += 4) {
    const auto two_rows = [&](int i) {
      const __m256 upper = _mm256_castps128_ps256(_mm_loadu_ps(in + i * in_row + half));
      return _mm256_insertf128_ps(upper, _mm_loadu_ps(in + (i + 4) * in_row + half), 1);
    };
    const __m256 r0 = two_rows(0), r1 = two_rows(1), r2 = two_rows(2), r3 = two_rows(3);
    const __m256 low01 = _mm256_unpacklo_ps(r0, r1), high01 = _mm256_unpackhi_ps(r0, r1);
    const __m256 low23 = _mm256_unpacklo_ps(r2, r3), high23 = _mm256_unpackhi_ps(r2, r3);
    float* to = out + half * out_row;
    _mm256_storeu_ps(to, _mm256_shuffle_ps(low01, low23, 0x44));
    _mm256_storeu_ps(to + out_row, _mm256_shuffle_ps(low01, low23, 0xEE));
    _mm256_storeu_ps(to + 2 * out_row, _mm256_shuffle_ps(high01, high23, 0x44));
    _mm256_storeu_ps(to + 3 * out_row, _mm256_shuffle_ps(high01, high23, 0xEE));
  }
}
#endif

template <int kValue>
struct Index {
  static constexpr int value = kValue;
};

// f(Index<0>), f(Index<1>), ... without a loop.
template <int kEnd, int kFirst = 0, class F>
STATOR_INLINE void each(const F& f) {
  if constexpr (kFirst < kEnd) {
    f(Index<kFirst>{});
    each<kEnd, kFirst + 1>(f);
  }
}

// f(Index<count>), of a count from 1 to kMost.
template <int kMost, class F>
STATOR_INLINE void with_count(int64_t count, const F& f) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_count<kMost - 1>(count, f);
  }
  f(Index<kMost>{});
}

STATOR_INLINE constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
STATOR_INLINE int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace
}  // namespace stator::CPU_CAPABILITY
