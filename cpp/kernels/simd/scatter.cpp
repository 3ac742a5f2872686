// Putting and adding elements by indices. Compiled once per CPU capability.
#include "kernels/scatter.h"

#include <cstring>

#include "kernels/simd/vectors.h"

namespace stator::CPU_CAPABILITY {

extern const ScatterKernels scatter_kernels;

namespace {

struct TakeOver {
  template <class T>
  static T of(T, T from) {
    return from;
  }
};

struct AddTo {
  template <class T>
  static T of(T to, T from) {
    return static_cast<T>(to + from);
  }
};

struct MultiplyBy {
  template <class T>
  static T of(T to, T from) {
    return static_cast<T>(to * from);
  }
};

// A NaN stays, and is taken over.
struct GreaterOf {
  template <class T>
  static T of(T to, T from) {
    return from > to || from != from ? from : to;
  }
};

struct LesserOf {
  template <class T>
  static T of(T to, T from) {
    return from < to || from != from ? from : to;
  }
};

// The row or element that an index means; -1 if it is out of range.
template <class Index>
int64_t place(const ScatterSpec& spec, Index index) {
  const int64_t at = spec.negative && index < 0 ? index + spec.size : index;
  return static_cast<uint64_t>(at) < static_cast<uint64_t>(spec.size) ? at : -1;
}

template <class Combine, class T, class Index>
bool scatter(const ScatterSpec& spec, const Index* indices, const T* from, T* to) {
  for (int64_t o = 0; o < spec.outer; ++o, to += spec.size * spec.inner) {
    for (int64_t c = 0; c < spec.count; ++c) {
      const Index* index = indices + o * spec.index_outer + c * spec.index_stride;
      const T* row = from + o * spec.from_outer + c * spec.from_stride;
      if (spec.index_inner == 0 && spec.from_inner == 1) {
        const int64_t at = place(spec, *index);
        if (at < 0) return false;
        T* __restrict neighbours = to + at * spec.inner;
        for (int64_t i = 0; i < spec.inner; ++i) neighbours[i] = Combine::of(neighbours[i], row[i]);
        continue;
      }
      for (int64_t i = 0; i < spec.inner; ++i) {
        const int64_t at = place(spec, index[i * spec.index_inner]);
        if (at < 0) return false;
        T& element = to[at * spec.inner + i];
        element = Combine::of(element, row[i * spec.from_inner]);
      }
    }
  }
  return true;
}

template <class Combine, class T>
bool scatter_by_any(const ScatterSpec& spec, const void* indices, const T* from, T* to) {
  if (spec.wide) return scatter<Combine>(spec, static_cast<const int64_t*>(indices), from, to);
  return scatter<Combine>(spec, static_cast<const int32_t*>(indices), from, to);
}

template <class T>
bool scatter(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ScatterSpec*>(specification);
  const void* indices = addresses[1];
  const auto* from = static_cast<const T*>(addresses[2]);
  auto* to = static_cast<T*>(addresses[3]);
  std::memcpy(to, addresses[0], static_cast<size_t>(spec.outer * spec.size * spec.inner) * sizeof(T));
  switch (spec.into) {
    case ScatterInto::kPut:
      return scatter_by_any<TakeOver>(spec, indices, from, to);
    case ScatterInto::kAdd:
      return scatter_by_any<AddTo>(spec, indices, from, to);
    case ScatterInto::kMultiply:
      return scatter_by_any<MultiplyBy>(spec, indices, from, to);
    case ScatterInto::kGreatest:
      return scatter_by_any<GreaterOf>(spec, indices, from, to);
    case ScatterInto::kLeast:
      return scatter_by_any<LesserOf>(spec, indices, from, to);
  }
  return false;
}

}  // namespace

const ScatterKernels scatter_kernels{
    .float32 = scatter<float>,
    .float64 = scatter<double>,
    .int64 = scatter<int64_t>,
    .int32 = scatter<int32_t>,
    .bytes = scatter<uint8_t>,
};

}  // namespace stator::CPU_CAPABILITY
