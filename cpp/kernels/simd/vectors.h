// What the kernels of several files do with vectors of floats: the last, incomplete one of a row, and one number from all lanes. For files that
// are compiled once per CPU capability; everything here is the including file's own.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <cmath>
#include <cstdint>

namespace stator::CPU_CAPABILITY {
namespace {

using Vec = at::vec::Vectorized<float>;
constexpr int64_t kLanes = Vec::size();

#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
#define STATOR_X86_VECTORS 1
#endif

// The first `count` lanes, 0 <= count <= kLanes. Nothing is touched beyond them.
class Lanes {
 public:
  explicit Lanes(int64_t count)
      : count_(count),
#if defined(CPU_CAPABILITY_AVX512)
        mask_(static_cast<__mmask16>((1u << count) - 1u))
#elif defined(CPU_CAPABILITY_AVX2)
        mask_(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)))
#else
        mask_()
#endif
  {
  }

  int64_t count() const { return count_; }

  // The other lanes are 0.
  Vec load(const float* from) const {
#if defined(CPU_CAPABILITY_AVX512)
    return _mm512_maskz_loadu_ps(mask_, from);
#elif defined(CPU_CAPABILITY_AVX2)
    return _mm256_maskload_ps(from, mask_);
#else
    return Vec::loadu(from, count_);
#endif
  }

  // These lanes of `these`, the others of `others`.
  Vec choose(const Vec& these, const Vec& others) const {
#if defined(CPU_CAPABILITY_AVX512)
    return _mm512_mask_blend_ps(mask_, others, these);
#elif defined(CPU_CAPABILITY_AVX2)
    return _mm256_blendv_ps(others, these, _mm256_castsi256_ps(mask_));
#else
    return Vec::set(others, these, count_);
#endif
  }

  void store(const Vec& values, float* to) const {
#if defined(CPU_CAPABILITY_AVX512)
    _mm512_mask_storeu_ps(to, mask_, values);
#elif defined(CPU_CAPABILITY_AVX2)
    store_parts(values, to);  // a masked store is slow on some CPUs
#else
    values.store(to, static_cast<int>(count_));
#endif
  }

 private:
#if defined(CPU_CAPABILITY_AVX2)
  void store_parts(__m256 values, float* to) const {
    if (count_ & 8) return _mm256_storeu_ps(to, values);
    __m128 rest = _mm256_castps256_ps128(values);
    if (count_ & 4) {
      _mm_storeu_ps(to, rest);
      rest = _mm256_extractf128_ps(values, 1);
      to += 4;
    }
    if (count_ & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
      rest = _mm_movehl_ps(rest, rest);
      to += 2;
    }
    if (count_ & 1) _mm_store_ss(to, rest);
  }
#endif

  int64_t count_;
#if defined(CPU_CAPABILITY_AVX512)
  __mmask16 mask_;
#elif defined(CPU_CAPABILITY_AVX2)
  __m256i mask_;
#else
  struct {
  } mask_;
#endif
};

// All lanes, so that loops over whole vectors and over a tail are the same text.
struct AllLanes {
  static constexpr int64_t count() { return kLanes; }
  static Vec load(const float* from) { return Vec::loadu(from); }
  static Vec choose(const Vec& these, const Vec&) { return these; }
  static void store(const Vec& values, float* to) { values.store(to); }
};

inline bool is_nan(float x) { return x != x; }
inline bool is_nan(double x) { return x != x; }
inline bool is_nan(int64_t) { return false; }
inline bool is_nan(int32_t) { return false; }
inline bool is_nan(uint8_t) { return false; }

// Ways to make one value of two: of vectors, of quarters of them, of numbers.
struct Add {
  static constexpr float kNeutral = 0.0f;
  static Vec of(const Vec& a, const Vec& b) { return a + b; }
  template <class T>
  static T one(T a, T b) {
    return a + b;
  }
#ifdef STATOR_X86_VECTORS
  static __m128 quarter(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
#endif
};

struct Multiply {
  static constexpr float kNeutral = 1.0f;
  static Vec of(const Vec& a, const Vec& b) { return a * b; }
  template <class T>
  static T one(T a, T b) {
    return a * b;
  }
#ifdef STATOR_X86_VECTORS
  static __m128 quarter(__m128 a, __m128 b) { return _mm_mul_ps(a, b); }
#endif
};

// The greater one, or NaN if one is.
struct Greater {
  static constexpr float kNeutral = -INFINITY;
  static Vec where(const Vec& a, const Vec& than) { return a > than; }
  static Vec of(const Vec& a, const Vec& b) { return at::vec::maximum(a, b); }
  template <class T>
  static bool is_better(T a, T than) {
    return a > than || (is_nan(a) && !is_nan(than));
  }
  template <class T>
  static T one(T a, T b) {
    return is_better(b, a) ? b : a;
  }
#ifdef STATOR_X86_VECTORS
  static __m128 quarter(__m128 a, __m128 b) { return _mm_or_ps(_mm_max_ps(a, b), _mm_cmpunord_ps(a, b)); }
#endif
};

struct Less {
  static constexpr float kNeutral = INFINITY;
  static Vec where(const Vec& a, const Vec& than) { return a < than; }
  static Vec of(const Vec& a, const Vec& b) { return at::vec::minimum(a, b); }
  template <class T>
  static bool is_better(T a, T than) {
    return a < than || (is_nan(a) && !is_nan(than));
  }
  template <class T>
  static T one(T a, T b) {
    return is_better(b, a) ? b : a;
  }
#ifdef STATOR_X86_VECTORS
  static __m128 quarter(__m128 a, __m128 b) { return _mm_or_ps(_mm_min_ps(a, b), _mm_cmpunord_ps(a, b)); }
#endif
};

// All lanes of a vector made one number.
template <class Combine>
inline float across(const Vec& values) {
#ifdef STATOR_X86_VECTORS
#if defined(CPU_CAPABILITY_AVX512)
  const __m512 all = values;
  const __m256 low = _mm512_castps512_ps256(all), high = _mm512_extractf32x8_ps(all, 1);
  const __m128 half = Combine::quarter(Combine::quarter(_mm256_castps256_ps128(low), _mm256_castps256_ps128(high)),
                                       Combine::quarter(_mm256_extractf128_ps(low, 1), _mm256_extractf128_ps(high, 1)));
#else
  const __m256 all = values;
  const __m128 half = Combine::quarter(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
#endif
  const __m128 pair = Combine::quarter(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(Combine::quarter(pair, _mm_movehdup_ps(pair)));
#else
  float lanes[kLanes];
  values.store(lanes);
  float result = lanes[0];
  for (int64_t i = 1; i < kLanes; ++i) result = Combine::one(result, lanes[i]);
  return result;
#endif
}

struct Same {
  static Vec of(const Vec& a) { return a; }
  template <class T>
  static T one(T a) {
    return a;
  }
};

struct Square {
  static Vec of(const Vec& a) { return a * a; }
  template <class T>
  static T one(T a) {
    return a * a;
  }
};

// Of numbers in a row, each one mapped first. Four chains, so that the latency of one does not bound them all.
template <class Combine, class Map>
inline float fold_short(const float* from, int64_t count) {
  Vec result(Combine::kNeutral);
  int64_t i = 0;
  if (count >= 4 * kLanes) {
    Vec chains[3] = {result, result, result};
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      result = Combine::of(result, Map::of(Vec::loadu(from + i)));
      chains[0] = Combine::of(chains[0], Map::of(Vec::loadu(from + i + kLanes)));
      chains[1] = Combine::of(chains[1], Map::of(Vec::loadu(from + i + 2 * kLanes)));
      chains[2] = Combine::of(chains[2], Map::of(Vec::loadu(from + i + 3 * kLanes)));
    }
    result = Combine::of(Combine::of(result, chains[0]), Combine::of(chains[1], chains[2]));
  }
  for (; i + kLanes <= count; i += kLanes) result = Combine::of(result, Map::of(Vec::loadu(from + i)));
  if (i < count) {
    const Lanes rest(count - i);
    result = rest.choose(Combine::of(result, Map::of(rest.load(from + i))), result);
  }
  return across<Combine>(result);
}

// Sums of more are made of sums of so many, which are added as doubles.
constexpr int64_t kBlock = 1024;

template <class Combine, class Map>
inline double fold_row(const float* from, int64_t count) {
  if (count <= kBlock) return fold_short<Combine, Map>(from, count);
  double result = Combine::kNeutral;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t block = count - i < kBlock ? count - i : kBlock;
    result = Combine::one(result, static_cast<double>(fold_short<Combine, Map>(from + i, block)));
  }
  return result;
}

struct Moments {
  double mean;
  double squares;  // the sum of squared distances from the mean
};

// In two passes. The distances say by how much the first pass, which adds in float32, missed the mean: where numbers are nearly equal,
// a normalisation magnifies that by as much as it does them.
inline Moments moments_of_row(const float* from, int64_t count) {
  const double first = fold_row<Add, Same>(from, count) / static_cast<double>(count);
  const float center = static_cast<float>(first);
  double distances = 0, squares = 0;
  for (int64_t i = 0; i < count;) {
    const int64_t end = count - i < kBlock ? count : i + kBlock;
    Vec d0(0.0f), d1(0.0f), s0(0.0f), s1(0.0f);
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const Vec a = Vec::loadu(from + i) - Vec(center), b = Vec::loadu(from + i + kLanes) - Vec(center);
      d0 = d0 + a;
      d1 = d1 + b;
      s0 = at::vec::fmadd(a, a, s0);
      s1 = at::vec::fmadd(b, b, s1);
    }
    for (; i < end; i += kLanes) {
      const Lanes rest(end - i < kLanes ? end - i : kLanes);
      const Vec a = rest.choose(rest.load(from + i) - Vec(center), Vec(0.0f));
      d0 = d0 + a;
      s0 = at::vec::fmadd(a, a, s0);
    }
    i = end;
    distances += across<Add>(d0 + d1);
    squares += across<Add>(s0 + s1);
  }
  const double missed = distances / static_cast<double>(count);
  const double mean = std::isfinite(missed) ? static_cast<double>(center) + missed : first;
  return {mean, squares - distances * missed};
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
