#include "kernels/row_order.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/parallel.h"

namespace stator {
namespace {

template <class T>
struct Element {
  T value;
  int64_t index;
};

// Before another one, in what is asked for.
template <class T>
struct GreaterFirst {
  bool operator()(const Element<T>& a, const Element<T>& b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a.value)) return !std::isnan(b.value);
    }
    return a.value > b.value;
  }
};

template <class T>
struct LessFirst {
  bool operator()(const Element<T>& a, const Element<T>& b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(b.value)) return !std::isnan(a.value);
    }
    return a.value < b.value;
  }
};

// The same steps as LibTorch's, because they decide on the order of equal elements.
struct FirstOnes {
  template <class T, class First>
  static void put_first(Element<T>* all, const RowOrderSpec& spec, First first) {
    constexpr int64_t kFew = 64;
    Element<T>* end = all + spec.count;
    if (spec.k * kFew <= spec.count) {
      std::partial_sort(all, all + spec.k, end, first);
      return;
    }
    std::nth_element(all, all + spec.k - 1, end, first);
    if (spec.sorted) std::sort(all, all + spec.k - 1, first);
  }
};

struct Sorted {
  template <class T, class First>
  static void put_first(Element<T>* all, const RowOrderSpec& spec, First first) {
    if (!spec.stable) return std::sort(all, all + spec.count, first);
    // By value and then by index, which needs no memory as std::stable_sort does.
    std::sort(all, all + spec.count, [first](const Element<T>& a, const Element<T>& b) {
      return first(a, b) || (a.index < b.index && !first(b, a));
    });
  }
};

template <class Way, class T>
void order_row(const RowOrderSpec& spec, const T* in, Element<T>* all, T* values, int64_t* indices) {
  for (int64_t i = 0; i < spec.count; ++i) all[i] = {in[i * spec.stride], i};
  spec.greatest ? Way::put_first(all, spec, GreaterFirst<T>{}) : Way::put_first(all, spec, LessFirst<T>{});
  for (int64_t i = 0; i < spec.k; ++i) {
    values[i] = all[i].value;
    indices[i] = all[i].index;
  }
}

template <class Way, class T>
struct Call {
  const RowOrderSpec& spec;
  const T* in;
  T* values;
  int64_t* indices;
  Element<T>* scratch;

  void run_part(int64_t part) const {
    Element<T>* all = scratch + part * spec.count;
    for (int64_t row = part * spec.rows / spec.parts; row < (part + 1) * spec.rows / spec.parts; ++row)
      order_row<Way>(spec, in + row * spec.row_stride, all, values + row * spec.k, indices + row * spec.k);
  }
};

template <class Way, class T>
bool order_rows(const void* specification, void* const* addresses) {
  static_assert(sizeof(Element<T>) == 16);
  using RowsCall = Call<Way, T>;
  const RowsCall call{*static_cast<const RowOrderSpec*>(specification), static_cast<const T*>(addresses[0]),
                      static_cast<T*>(addresses[1]), static_cast<int64_t*>(addresses[2]),
                      static_cast<Element<T>*>(addresses[3])};
  run_parts(
      call.spec.parts, [](const void* call, int64_t part) { static_cast<const RowsCall*>(call)->run_part(part); },
      &call);
  return true;
}

}  // namespace

template <class T>
bool topk(const void* specification, void* const* addresses) {
  return order_rows<FirstOnes, T>(specification, addresses);
}

template <class T>
bool sort_rows(const void* specification, void* const* addresses) {
  return order_rows<Sorted, T>(specification, addresses);
}

template bool topk<float>(const void*, void* const*);
template bool topk<double>(const void*, void* const*);
template bool topk<int64_t>(const void*, void* const*);
template bool sort_rows<float>(const void*, void* const*);
template bool sort_rows<double>(const void*, void* const*);
template bool sort_rows<int64_t>(const void*, void* const*);

}  // namespace stator
