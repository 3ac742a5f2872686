// Work in parts, for kernels: parallel.h. For files that are compiled once per CPU capability; everything here is the including file's own.
#pragma once

#include "kernels/parallel.h"

namespace stator::CPU_CAPABILITY {
namespace {

// f(begin, end) for ranges that make up [0, count), of about equal length: one a part.
template <class F>
void share(int64_t parts, int64_t count, const F& f) {
  if (parts == 1) return f(int64_t{0}, count);
  struct Whole {
    int64_t parts, count;
    const F& f;
  };
  const Whole all{parts, count, f};
  run_parts(
      parts,
      [](const void* whole, int64_t part) {
        const auto& [parts, count, f] = *static_cast<const Whole*>(whole);
        const int64_t begin = part * count / parts, end = (part + 1) * count / parts;
        if (begin < end) f(begin, end);
      },
      &all);
}

// The same where f may fail: false if it did for one of the ranges.
template <class F>
bool share_checked(int64_t parts, int64_t count, const F& f) {
  if (parts == 1) return f(int64_t{0}, count);
  bool failed = false;
  share(parts, count, [&](int64_t begin, int64_t end) {
    if (!f(begin, end)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  });
  return !failed;
}

// f(i, begin, end) for ranges of the `inner` pieces that each of `outer` things has.
template <class F>
void share_pieces(int64_t parts, int64_t outer, int64_t inner, const F& f) {
  if (parts == 1) {
    for (int64_t i = 0; i < outer; ++i) f(i, int64_t{0}, inner);
    return;
  }
  share(parts, outer * inner, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t i = at / inner, first = at - i * inner;
      const int64_t last = inner - first < end - at ? inner : first + end - at;
      f(i, first, last);
      at += last - first;
    }
  });
}

template <class F>
bool share_pieces_checked(int64_t parts, int64_t outer, int64_t inner, const F& f) {
  bool failed = false;
  share_pieces(parts, outer, inner, [&](int64_t i, int64_t begin, int64_t end) {
    if (!f(i, begin, end)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
  });
  return !failed;
}

}  // namespace
}  // namespace stator::CPU_CAPABILITY
