// Reductions. A row of neighbours is taken by vectors along it, rows side by side by vectors across them, anything else one by one.
// Compiled once per CPU capability.
#include "kernels/reductions.h"

#include "kernels/simd/share.h"
#include "kernels/simd/vectors.h"

namespace stator::CPU_CAPABILITY {

extern const ReductionKernels reduction_kernels;

namespace {

const ReductionSpec& spec_of(const void* specification) { return *static_cast<const ReductionSpec*>(specification); }

// f(columns, from, first): the results first, first + 1, ..., as many as there are columns, of what begins at `from`. Columns are side by side,
// an inner_stride apart.
template <class T, class F>
void for_results(const ReductionSpec& spec, const T* from, const F& f) {
  constexpr int64_t kPiece = 4 * kLanes;
  share_pieces(spec.parts, spec.outer, (spec.inner + kPiece - 1) / kPiece, [&](int64_t o, int64_t begin, int64_t end) {
    const int64_t first = begin * kPiece, last = end * kPiece < spec.inner ? end * kPiece : spec.inner;
    f(last - first, from + o * spec.outer_stride + first * spec.inner_stride, o * spec.inner + first);
  });
}

// ---- float32 ----

// What becomes of a fold of `count` elements.
struct Itself {
  static float of(double fold, int64_t) { return static_cast<float>(fold); }
  static Vec of(const Vec& fold, int64_t) { return fold; }
};
struct Mean {
  static float of(double fold, int64_t count) { return static_cast<float>(fold / static_cast<double>(count)); }
  static Vec of(const Vec& fold, int64_t count) { return fold / Vec(static_cast<float>(count)); }
};
struct Root {
  static float of(double fold, int64_t) { return std::sqrt(static_cast<float>(fold)); }
  static Vec of(const Vec& fold, int64_t) { return fold.sqrt(); }
};

// `kStrips` vectors side by side, down `rows` rows; a block of rows at a time, so that sums stay accurate.
template <class Combine, class Map, class Finish, int kStrips, class Which>
void fold_strips(const float* from, int64_t rows, int64_t stride, float* to, const Which& lanes) {
  constexpr int64_t kBlockRows = 128;
  Vec total[kStrips];
  for (Vec& strip : total) strip = Vec(Combine::kNeutral);
  for (int64_t r = 0; r < rows;) {
    const int64_t end = rows - r < kBlockRows ? rows : r + kBlockRows;
    Vec block[kStrips];
    for (int s = 0; s < kStrips; ++s) block[s] = Map::of(lanes.load(from + r * stride + s * kLanes));
    for (++r; r < end; ++r) {
      for (int s = 0; s < kStrips; ++s) {
        block[s] = Combine::of(block[s], Map::of(lanes.load(from + r * stride + s * kLanes)));
      }
    }
    for (int s = 0; s < kStrips; ++s) total[s] = Combine::of(total[s], block[s]);
  }
  for (int s = 0; s < kStrips; ++s) lanes.store(Finish::of(total[s], rows), to + s * kLanes);
}

template <class Combine, class Map, class Finish>
void fold_columns(const ReductionSpec& spec, int64_t columns, const float* from, float* to) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= columns; i += 4 * kLanes) {
    fold_strips<Combine, Map, Finish, 4>(from + i, spec.reduced, spec.reduced_stride, to + i, AllLanes());
  }
  for (; i + kLanes <= columns; i += kLanes) {
    fold_strips<Combine, Map, Finish, 1>(from + i, spec.reduced, spec.reduced_stride, to + i, AllLanes());
  }
  if (i < columns) {
    fold_strips<Combine, Map, Finish, 1>(from + i, spec.reduced, spec.reduced_stride, to + i, Lanes(columns - i));
  }
}

template <class Combine, class Map>
double fold_one_by_one(const float* from, int64_t count, int64_t stride) {
  double result = Map::one(*from);  // a square overflows as LibTorch's does
  for (int64_t i = 1; i < count; ++i) result = Combine::one(result, static_cast<double>(Map::one(from[i * stride])));
  return result;
}

constexpr int64_t kFew = 4;  // less than a vector earns

template <class Combine, class Map, class Finish>
void fold_row_by_row(const ReductionSpec& spec, int64_t columns, const float* from, float* to) {
  const int64_t count = spec.reduced;
  const bool one_by_one = spec.reduced_stride != 1 || count <= kFew;
  for (int64_t i = 0; i < columns; ++i) {
    const float* row = from + i * spec.inner_stride;
    to[i] = Finish::of(one_by_one ? fold_one_by_one<Combine, Map>(row, count, spec.reduced_stride)
                                  : fold_row<Combine, Map>(row, count),
                       count);
  }
}

bool by_columns(const ReductionSpec& spec) {
  return spec.inner > 1 && spec.inner_stride == 1 && (spec.reduced_stride != 1 || spec.reduced == 1);
}

template <class Combine, class Map, class Finish>
bool fold(const void* specification, void* const* addresses) {
  const ReductionSpec& spec = spec_of(specification);
  const auto* from = static_cast<const float*>(addresses[0]);
  auto* to = static_cast<float*>(addresses[1]);
  const bool across = by_columns(spec);
  for_results(spec, from, [&](int64_t columns, const float* some, int64_t first) {
    across ? fold_columns<Combine, Map, Finish>(spec, columns, some, to + first)
           : fold_row_by_row<Combine, Map, Finish>(spec, columns, some, to + first);
  });
  return true;
}

// ---- variances ----

Moments moments_one_by_one(const float* from, int64_t count, int64_t stride) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += from[i * stride];
  const double mean = sum / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = from[i * stride] - mean;
    squares += distance * distance;
  }
  return {mean, squares};
}

// Of a vector's columns.
struct ColumnMoments {
  Vec mean, squares;
};

template <class Which>
ColumnMoments moments_of_columns(const float* from, int64_t rows, int64_t stride, const Which& lanes) {
  const Vec count(static_cast<float>(rows));
  float means[kLanes];
  fold_strips<Add, Same, Mean, 1>(from, rows, stride, means, lanes);
  const Vec mean = lanes.load(means);
  Vec distances(0.0f), squares(0.0f);
  for (int64_t r = 0; r < rows; ++r) {
    const Vec distance = lanes.load(from + r * stride) - mean;
    distances = distances + distance;
    squares = at::vec::fmadd(distance, distance, squares);
  }
  return {mean, squares - distances * distances / count};
}

double freedom(const ReductionSpec& spec) { return static_cast<double>(spec.reduced) - spec.correction; }

template <bool kRoot, class Which>
void spread_of_columns(const ReductionSpec& spec, const float* from, float* spread, float* mean, const Which& lanes) {
  const ColumnMoments moments = moments_of_columns(from, spec.reduced, spec.reduced_stride, lanes);
  const Vec variance = moments.squares / Vec(static_cast<float>(freedom(spec)));
  lanes.store(kRoot ? variance.sqrt() : variance, spread);
  if (mean) lanes.store(moments.mean, mean);
}

template <bool kRoot>
void spreads_of_columns(const ReductionSpec& spec, int64_t columns, const float* from, float* spread, float* mean) {
  int64_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    spread_of_columns<kRoot>(spec, from + i, spread + i, mean ? mean + i : nullptr, AllLanes());
  }
  if (i == columns) return;
  spread_of_columns<kRoot>(spec, from + i, spread + i, mean ? mean + i : nullptr, Lanes(columns - i));
}

template <bool kRoot>
void spreads_row_by_row(const ReductionSpec& spec, int64_t columns, const float* from, float* spread, float* mean) {
  for (int64_t i = 0; i < columns; ++i) {
    const float* row = from + i * spec.inner_stride;
    const Moments moments = spec.reduced_stride == 1 ? moments_of_row(row, spec.reduced)
                                                     : moments_one_by_one(row, spec.reduced, spec.reduced_stride);
    const double variance = moments.squares / freedom(spec);
    spread[i] = static_cast<float>(kRoot ? std::sqrt(variance) : variance);
    if (mean) mean[i] = static_cast<float>(moments.mean);
  }
}

// LibTorch's mean beside a variance is a running one, which an infinity makes infinite or NaN by what comes behind it.
float running_mean(const float* from, int64_t count, int64_t stride) {
  double mean = 0;
  for (int64_t i = 0; i < count; ++i) mean += (from[i * stride] - mean) / static_cast<double>(i + 1);
  return static_cast<float>(mean);
}

void run_infinite_means(const ReductionSpec& spec, int64_t columns, const float* from, float* mean) {
  for (int64_t i = 0; i < columns; ++i) {
    if (mean[i] - mean[i] == 0) continue;
    mean[i] = running_mean(from + i * spec.inner_stride, spec.reduced, spec.reduced_stride);
  }
}

template <bool kRoot, bool kMean>
bool spread(const void* specification, void* const* addresses) {
  const ReductionSpec& spec = spec_of(specification);
  const auto* from = static_cast<const float*>(addresses[0]);
  constexpr int64_t kFewRows = 128;  // by columns, sums of more would want blocks
  const bool across = by_columns(spec) && spec.reduced <= kFewRows;
  for_results(spec, from, [&](int64_t columns, const float* some, int64_t first) {
    float* to = static_cast<float*>(addresses[1]) + first;
    float* mean = kMean ? static_cast<float*>(addresses[2]) + first : nullptr;
    across ? spreads_of_columns<kRoot>(spec, columns, some, to, mean)
           : spreads_row_by_row<kRoot>(spec, columns, some, to, mean);
    if (mean) run_infinite_means(spec, columns, some, mean);
  });
  return true;
}

// ---- the first of the greatest or least ----

template <class Order, class T>
int64_t where_one_by_one(const T* from, int64_t count, int64_t stride) {
  int64_t where = 0;
  T best = from[0];
  for (int64_t i = 1; i < count; ++i) {
    const T value = from[i * stride];
    if (Order::is_better(value, best)) {
      best = value;
      where = i;
    }
  }
  return where;
}

template <class Order, class T>
int64_t where_in_row(const T* from, int64_t count) {
  return where_one_by_one<Order>(from, count, 1);
}

template <class Order>
int64_t where_in_row(const float* from, int64_t count) {
  if (count <= 2 * kLanes) return where_one_by_one<Order>(from, count, 1);
  const float best = static_cast<float>(fold_row<Order, Same>(from, count));
  int64_t i = 0;
  if (is_nan(best)) {
    while (!is_nan(from[i])) ++i;
    return i;
  }
  constexpr int kNone = (1 << kLanes) - 1;
  const Vec target(best);
  while (i + kLanes <= count && (Vec::loadu(from + i) == target).zero_mask() == kNone) i += kLanes;
  while (from[i] != best) ++i;
  return i;
}

// Of a vector's columns. Indices are counted as floats, which know all that `kMostCounted` rows need.
constexpr int64_t kMostCounted = 1 << 24;

template <class Order, class Which>
void first_of_strip(const float* from, int64_t rows, int64_t stride, float* values, int64_t* indices,
                    const Which& lanes) {
  Vec best = lanes.load(from), where(0.0f);
  for (int64_t r = 1; r < rows; ++r) {
    const Vec value = lanes.load(from + r * stride);
    const Vec better = Order::where(value, best) | (value.isnan() & (best == best));
    best = Vec::blendv(best, value, better);
    where = Vec::blendv(where, Vec(static_cast<float>(r)), better);
  }
  if (values) lanes.store(best, values);
  float counted[kLanes];
  where.store(counted);
  for (int64_t i = 0; i < lanes.count(); ++i) indices[i] = static_cast<int32_t>(counted[i]);
}

template <class Order>
void first_of_columns(const ReductionSpec& spec, int64_t columns, const float* from, float* values, int64_t* indices) {
  if (spec.reduced == 1) {
    for (int64_t i = 0; i < columns; ++i) indices[i] = 0;
    for (int64_t i = 0; values && i < columns; ++i) values[i] = from[i];
    return;
  }
  for (int64_t i = 0; i < columns; i += kLanes) {
    float* best = values ? values + i : nullptr;
    const int64_t rest = columns - i;
    rest < kLanes ? first_of_strip<Order>(from + i, spec.reduced, spec.reduced_stride, best, indices + i, Lanes(rest))
                  : first_of_strip<Order>(from + i, spec.reduced, spec.reduced_stride, best, indices + i, AllLanes());
  }
}

template <class T, class Order, bool kValues, bool kIndices>
bool first_of(const void* specification, void* const* addresses) {
  const ReductionSpec& spec = spec_of(specification);
  const auto* from = static_cast<const T*>(addresses[0]);
  T* values = kValues ? static_cast<T*>(addresses[1]) : nullptr;
  int64_t* indices = kIndices ? static_cast<int64_t*>(addresses[kValues ? 2 : 1]) : nullptr;
  for_results(spec, from, [&](int64_t columns, const T* some, int64_t first) {
    for (int64_t i = 0; i < columns; ++i) {
      const T* row = some + i * spec.inner_stride;
      const int64_t where = spec.reduced_stride == 1 ? where_in_row<Order>(row, spec.reduced)
                                                     : where_one_by_one<Order>(row, spec.reduced, spec.reduced_stride);
      if (kValues) values[first + i] = row[where * spec.reduced_stride];
      if (kIndices) indices[first + i] = where;
    }
  });
  return true;
}

template <class Order, bool kValues>
bool first_of_floats(const void* specification, void* const* addresses) {
  const ReductionSpec& spec = spec_of(specification);
  if (!by_columns(spec) || spec.reduced > kMostCounted) {
    return first_of<float, Order, kValues, true>(specification, addresses);
  }
  const auto* from = static_cast<const float*>(addresses[0]);
  float* values = kValues ? static_cast<float*>(addresses[1]) : nullptr;
  auto* indices = static_cast<int64_t*>(addresses[kValues ? 2 : 1]);
  for_results(spec, from, [&](int64_t columns, const float* some, int64_t first) {
    first_of_columns<Order>(spec, columns, some, values ? values + first : nullptr, indices + first);
  });
  return true;
}

// ---- other types ----

template <class From, class To, class F>
bool one_by_one(const void* specification, void* const* addresses, const F& reduce) {
  const ReductionSpec& spec = spec_of(specification);
  const auto* from = static_cast<const From*>(addresses[0]);
  auto* to = static_cast<To*>(addresses[1]);
  for_results(spec, from, [&](int64_t columns, const From* some, int64_t first) {
    for (int64_t i = 0; i < columns; ++i) {
      to[first + i] = reduce(some + i * spec.inner_stride, spec.reduced, spec.reduced_stride);
    }
  });
  return true;
}

template <class From, class To>
To sum_of(const From* row, int64_t count, int64_t stride) {
  To sums[4] = {};
  int64_t i = 0;
  if (stride == 1) {  // the same, which the compiler makes vectors of
    for (; i + 4 <= count; i += 4) {
      for (int64_t k = 0; k < 4; ++k) sums[k] += static_cast<To>(row[i + k]);
    }
  }
  for (; i + 4 <= count; i += 4) {
    for (int64_t k = 0; k < 4; ++k) sums[k] += static_cast<To>(row[(i + k) * stride]);
  }
  for (; i < count; ++i) sums[0] += static_cast<To>(row[i * stride]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class From, class To>
bool sum(const void* specification, void* const* addresses) {
  return one_by_one<From, To>(specification, addresses, sum_of<From, To>);
}

bool mean_double(const void* specification, void* const* addresses) {
  return one_by_one<double, double>(specification, addresses, [](const double* row, int64_t count, int64_t stride) {
    return sum_of<double, double>(row, count, stride) / static_cast<double>(count);
  });
}

// Whether one element is what is looked for.
template <class From, bool kTrue>
bool holds(const From* row, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    if ((row[i * stride] != 0) == kTrue) return true;
  }
  return false;
}

template <class From>
bool any(const void* specification, void* const* addresses) {
  return one_by_one<From, bool>(specification, addresses, holds<From, true>);
}

template <class From>
bool all(const void* specification, void* const* addresses) {
  return one_by_one<From, bool>(specification, addresses, [](const From* row, int64_t count, int64_t stride) {
    return !holds<From, false>(row, count, stride);
  });
}

}  // namespace

const ReductionKernels reduction_kernels{
    .sum = fold<Add, Same, Itself>,
    .mean = fold<Add, Same, Mean>,
    .product = fold<Multiply, Same, Itself>,
    .greatest = fold<Greater, Same, Itself>,
    .least = fold<Less, Same, Itself>,
    .norm = fold<Add, Square, Root>,
    .variance = spread<false, false>,
    .deviation = spread<true, false>,
    .variance_and_mean = spread<false, true>,
    .deviation_and_mean = spread<true, true>,
    .greatest_and_where = first_of_floats<Greater, true>,
    .least_and_where = first_of_floats<Less, true>,
    .where_greatest = first_of_floats<Greater, false>,
    .where_least = first_of_floats<Less, false>,
    .any = any<float>,
    .all = all<float>,
    .any_bool = any<uint8_t>,
    .all_bool = all<uint8_t>,
    .sum_bool = sum<uint8_t, int64_t>,
    .sum_int32 = sum<int32_t, int64_t>,
    .sum_int64 = sum<int64_t, int64_t>,
    .greatest_int64 = first_of<int64_t, Greater, true, false>,
    .least_int64 = first_of<int64_t, Less, true, false>,
    .where_greatest_int64 = first_of<int64_t, Greater, false, true>,
    .where_least_int64 = first_of<int64_t, Less, false, true>,
    .greatest_and_where_int64 = first_of<int64_t, Greater, true, true>,
    .least_and_where_int64 = first_of<int64_t, Less, true, true>,
    .sum_double = sum<double, double>,
    .mean_double = mean_double,
    .greatest_double = first_of<double, Greater, true, false>,
    .least_double = first_of<double, Less, true, false>,
};

}  // namespace stator::CPU_CAPABILITY
