// Softmax, normalisations and running sums. A row of neighbours is taken by vectors along it, rows side by side by vectors across them.
// Compiled once per CPU capability.
#include "kernels/rows.h"

#include "kernels/simd/share.h"
#include "kernels/simd/vectors.h"

namespace stator::CPU_CAPABILITY {

extern const RowKernels row_kernels;

namespace {

// ---- softmax ----

constexpr float kInfinity = INFINITY;

bool is_finite(float x) { return x - x == 0.0f; }

void fill(float* to, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

// exp(x - greatest) of a row and their sum. `greatest` is finite: exp_u20 does not know NaN.
template <bool kStore>
float exponentials(const float* from, int64_t count, float greatest, float* to) {
  const Vec shift(greatest);
  Vec sum(0.0f), other(0.0f);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const Vec a = (Vec::loadu(from + i) - shift).exp_u20(), b = (Vec::loadu(from + i + kLanes) - shift).exp_u20();
    if (kStore) a.store(to + i);
    if (kStore) b.store(to + i + kLanes);
    sum = sum + a;
    other = other + b;
  }
  for (; i < count; i += kLanes) {
    const Lanes rest(count - i < kLanes ? count - i : kLanes);
    const Vec a = rest.choose((rest.load(from + i) - shift).exp_u20(), Vec(0.0f));
    if (kStore) rest.store(a, to + i);
    sum = sum + a;
  }
  return across<Add>(sum + other);
}

template <class F>
void map(const float* from, int64_t count, float* to, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) f(Vec::loadu(from + i)).store(to + i);
  if (i == count) return;
  const Lanes rest(count - i);
  rest.store(f(rest.load(from + i)), to + i);
}

// All of a row in `kVectors` vectors, the last with some of its lanes: nothing is written but the result.
template <bool kLog, int kVectors>
void softmax_few(const float* from, const Lanes& last, float* to) {
  constexpr int kLast = kVectors - 1;
  Vec row[kVectors];
  for (int v = 0; v < kLast; ++v) row[v] = Vec::loadu(from + v * kLanes);
  row[kLast] = last.choose(last.load(from + kLast * kLanes), Vec(-kInfinity));
  Vec greater = row[0];
  for (int v = 1; v < kVectors; ++v) greater = at::vec::maximum(greater, row[v]);
  const float greatest = across<Greater>(greater);
  if (!is_finite(greatest)) return fill(to, kLast * kLanes + last.count(), NAN);
  Vec sums(0.0f);
  for (int v = 0; v < kVectors; ++v) {
    const Vec shifted = row[v] - Vec(greatest), exponential = shifted.exp_u20();
    sums = sums + (v == kLast ? last.choose(exponential, Vec(0.0f)) : exponential);
    row[v] = kLog ? shifted : exponential;
  }
  const float sum = across<Add>(sums);
  const Vec by(kLog ? std::log(sum) : 1.0f / sum);
  for (int v = 0; v < kLast; ++v) (kLog ? row[v] - by : row[v] * by).store(to + v * kLanes);
  last.store(kLog ? row[kLast] - by : row[kLast] * by, to + kLast * kLanes);
}

// NaN, or an infinity that is the greatest, leaves nothing but NaN in a row.
template <bool kLog>
void softmax_row(const float* from, int64_t count, float* to) {
  const float greatest = fold_short<Greater, Same>(from, count);
  if (!is_finite(greatest)) return fill(to, count, NAN);
  const float sum = exponentials<!kLog>(from, count, greatest, to);
  if (kLog) {
    const Vec shift(greatest), log(std::log(sum));
    map(from, count, to, [&](const Vec& x) { return x - shift - log; });
  } else {
    const Vec factor(1.0f / sum);
    map(to, count, to, [&](const Vec& x) { return x * factor; });
  }
}

// The lanes of a vector whose greatest is not finite become NaN by this; zero added to the others.
Vec poison(const Vec& greatest) { return (greatest - greatest) * Vec(0.0f); }

template <bool kLog, class Which>
void softmax_columns(const float* from, int64_t count, int64_t stride, float* to, int64_t to_stride,
                     const Which& lanes) {
  Vec greatest = lanes.load(from);
  for (int64_t r = 1; r < count; ++r) greatest = at::vec::maximum(greatest, lanes.load(from + r * stride));
  Vec sum = poison(greatest);
  for (int64_t r = 0; r < count; ++r) {
    const Vec exponential = (lanes.load(from + r * stride) - greatest).exp_u20();
    if (!kLog) lanes.store(exponential, to + r * to_stride);
    sum = sum + exponential;
  }
  if (kLog) {
    const Vec log = sum.log();
    for (int64_t r = 0; r < count; ++r) {
      lanes.store(lanes.load(from + r * stride) - greatest - log, to + r * to_stride);
    }
  } else {
    const Vec factor = Vec(1.0f) / sum;
    for (int64_t r = 0; r < count; ++r) lanes.store(lanes.load(to + r * to_stride) * factor, to + r * to_stride);
  }
}

float* gather_row(const float* from, int64_t count, int64_t stride, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  return to;
}

template <bool kLog, class F>
void softmax_rows(const AlongSpec& spec, const float* from, float* to, const F& softmax) {
  share(spec.parts, spec.outer, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const float* row = from + o * spec.outer_stride;
      float* result = to + o * spec.size;
      softmax(spec.stride == 1 ? row : gather_row(row, spec.size, spec.stride, result), result);
    }
  });
}

template <bool kLog, int kVectors>
void softmax_few_rows(const AlongSpec& spec, const float* from, float* to) {
  const Lanes last(spec.size - (kVectors - 1) * kLanes);
  softmax_rows<kLog>(spec, from, to,
                     [last](const float* row, float* result) { softmax_few<kLog, kVectors>(row, last, result); });
}

template <bool kLog>
void softmax_rows(const AlongSpec& spec, const float* from, float* to) {
  switch ((spec.size + kLanes - 1) / kLanes) {
    case 1:
      return softmax_few_rows<kLog, 1>(spec, from, to);
    case 2:
      return softmax_few_rows<kLog, 2>(spec, from, to);
    case 3:
      return softmax_few_rows<kLog, 3>(spec, from, to);
    case 4:
      return softmax_few_rows<kLog, 4>(spec, from, to);
    default:
      break;
  }
  softmax_rows<kLog>(spec, from, to,
                     [&spec](const float* row, float* result) { softmax_row<kLog>(row, spec.size, result); });
}

template <bool kLog>
bool softmax(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const AlongSpec*>(specification);
  const auto* from = static_cast<const float*>(addresses[0]);
  auto* to = static_cast<float*>(addresses[1]);
  if (spec.inner == 1) {
    softmax_rows<kLog>(spec, from, to);
    return true;
  }
  share_pieces(spec.parts, spec.outer, (spec.inner + kLanes - 1) / kLanes, [&](int64_t o, int64_t first, int64_t last) {
    const float* columns = from + o * spec.outer_stride;
    float* results = to + o * spec.size * spec.inner;
    for (int64_t i = first * kLanes; i < last * kLanes; i += kLanes) {
      const int64_t rest = spec.inner - i;
      rest < kLanes ? softmax_columns<kLog>(columns + i, spec.size, spec.stride, results + i, spec.inner, Lanes(rest))
                    : softmax_columns<kLog>(columns + i, spec.size, spec.stride, results + i, spec.inner, AllLanes());
    }
  });
  return true;
}

// An infinite greatest is the result; NaN too.
bool log_sum_exp(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const AlongSpec*>(specification);
  const auto* from = static_cast<const float*>(addresses[0]);
  auto* to = static_cast<float*>(addresses[1]);
  share(spec.parts, spec.outer, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const float* row = from + o * spec.outer_stride;
      const float greatest = fold_short<Greater, Same>(row, spec.size);
      to[o] =
          is_finite(greatest) ? greatest + std::log(exponentials<false>(row, spec.size, greatest, nullptr)) : greatest;
    }
  });
  return true;
}

// `kColumns` sums side by side, `step` elements apart where they are read and `to_step` where they are written. As doubles, like LibTorch's.
template <int kColumns>
void running_sums(const AlongSpec& spec, const float* from, int64_t step, float* to, int64_t to_step) {
  double sums[kColumns] = {};
  for (int64_t r = 0; r < spec.size; ++r) {
    for (int k = 0; k < kColumns; ++k) {
      sums[k] += from[r * spec.stride + k * step];
      to[r * spec.inner + k * to_step] = static_cast<float>(sums[k]);
    }
  }
}

// Of rows begin .. end - 1, one element wide.
void running_sums_of_rows(const AlongSpec& spec, const float* from, float* to, int64_t begin, int64_t end) {
  constexpr int kSome = 4;
  int64_t o = begin;
  for (; o + kSome <= end; o += kSome) {
    running_sums<kSome>(spec, from + o * spec.outer_stride, spec.outer_stride, to + o * spec.size, spec.size);
  }
  for (; o < end; ++o) running_sums<1>(spec, from + o * spec.outer_stride, 0, to + o * spec.size, 0);
}

bool running_sum(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const AlongSpec*>(specification);
  const auto* from = static_cast<const float*>(addresses[0]);
  auto* to = static_cast<float*>(addresses[1]);
  if (spec.inner == 1) {
    share(spec.parts, spec.outer,
          [&](int64_t begin, int64_t end) { running_sums_of_rows(spec, from, to, begin, end); });
    return true;
  }
  constexpr int64_t kMany = 16;
  share_pieces(spec.parts, spec.outer, (spec.inner + kMany - 1) / kMany, [&](int64_t o, int64_t first, int64_t last) {
    const float* row = from + o * spec.outer_stride;
    float* sums = to + o * spec.size * spec.inner;
    const int64_t end = last * kMany < spec.inner ? last * kMany : spec.inner;
    int64_t i = first * kMany;
    for (; spec.inner_stride == 1 && i + kMany <= end; i += kMany) running_sums<kMany>(spec, row + i, 1, sums + i, 1);
    for (; i < end; ++i) running_sums<1>(spec, row + i * spec.inner_stride, 0, sums + i, 0);
  });
  return true;
}

// ---- normalisations ----

// Addresses in the order of the specification, some of which are not there.
class Addresses {
 public:
  explicit Addresses(void* const* next) : next_(next) {}
  float* take() { return static_cast<float*>(*next_++); }
  float* take_if(bool there) { return there ? take() : nullptr; }

 private:
  void* const* next_;
};

// What a row is normalised by: (x - center) * scale + rest, the rest being what rounding the center took away.
struct Normal {
  float center, scale, rest;
};

Normal normal_of(const Moments& moments, int64_t count, float eps) {
  const float center = static_cast<float>(moments.mean);
  const double scale = 1.0 / std::sqrt(moments.squares / static_cast<double>(count) + static_cast<double>(eps));
  const double rounded = moments.mean - static_cast<double>(center);
  return {center, static_cast<float>(scale), static_cast<float>(-rounded * scale)};
}

template <bool kWeight, bool kBias>
void scale_row(const float* from, int64_t count, const Normal& by, const float* weight, const float* bias, float* to) {
  const Vec center(by.center), scale(by.scale), rest(by.rest);
  const auto step = [&](int64_t i, const auto& lanes) {
    Vec x = at::vec::fmadd(lanes.load(from + i) - center, scale, rest);
    if (kWeight && kBias) {
      x = at::vec::fmadd(x, lanes.load(weight + i), lanes.load(bias + i));
    } else if (kWeight) {
      x = x * lanes.load(weight + i);
    } else if (kBias) {
      x = x + lanes.load(bias + i);
    }
    lanes.store(x, to + i);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) step(i, AllLanes());
  if (i < count) step(i, Lanes(count - i));
}

void scale_row(const float* from, int64_t count, const Normal& by, const float* weight, const float* bias, float* to) {
  if (weight && bias) return scale_row<true, true>(from, count, by, weight, bias, to);
  if (weight) return scale_row<true, false>(from, count, by, weight, bias, to);
  if (bias) return scale_row<false, true>(from, count, by, weight, bias, to);
  scale_row<false, false>(from, count, by, weight, bias, to);
}

bool layer_norm(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const NormalizeRowsSpec*>(specification);
  Addresses next(addresses);
  const float* from = next.take();
  const float* weight = next.take_if(spec.has_weight);
  const float* bias = next.take_if(spec.has_bias);
  float* to = next.take();
  float* means = next.take_if(spec.has_statistics);
  float* factors = next.take_if(spec.has_statistics);
  share(spec.parts, spec.rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* row = from + r * spec.row_stride;
      const Normal by = normal_of(moments_of_row(row, spec.size), spec.size, spec.eps);
      scale_row(row, spec.size, by, weight, bias, to + r * spec.size);
      if (means) means[r] = by.center;
      if (factors) factors[r] = by.scale;
    }
  });
  return true;
}

bool rms_norm(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const NormalizeRowsSpec*>(specification);
  Addresses next(addresses);
  const float* from = next.take();
  const float* weight = next.take_if(spec.has_weight);
  float* to = next.take();
  float* factors = next.take_if(spec.has_statistics);
  share(spec.parts, spec.rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* row = from + r * spec.row_stride;
      const double square = fold_row<Add, Square>(row, spec.size) / static_cast<double>(spec.size);
      const auto factor = static_cast<float>(1.0 / std::sqrt(square + static_cast<double>(spec.eps)));
      scale_row(row, spec.size, {0.0f, factor, -0.0f}, weight, nullptr, to + r * spec.size);
      if (factors) factors[r] = factor;
    }
  });
  return true;
}

void scale_run(const float* from, int64_t count, float center, float scale, float shift, float* to) {
  if (count == 1) {
    *to = (*from - center) * scale + shift;
    return;
  }
  const Vec middle(center), by(scale), plus(shift);
  map(from, count, to, [&](const Vec& x) { return at::vec::fmadd(x - middle, by, plus); });
}

struct Groups {
  const float *from, *weights, *biases;
  float *to, *means, *factors;
};

void normalize_group(const NormalizeGroupsSpec& spec, const Groups& groups, int64_t r) {
  const int64_t size = spec.channels * spec.size;
  const float* from = groups.from + r * size;
  float* to = groups.to + r * size;
  const Normal by = normal_of(moments_of_row(from, size), size, spec.eps);
  for (int64_t c = 0; c < spec.channels; ++c, from += spec.size, to += spec.size) {
    const int64_t channel = r % spec.groups * spec.channels + c;
    const float weight = groups.weights ? groups.weights[channel] : 1.0f;
    const float shift = (groups.biases ? groups.biases[channel] : 0.0f) + by.rest * weight;
    scale_run(from, spec.size, by.center, by.scale * weight, shift, to);
  }
  if (groups.means) groups.means[r] = by.center;
  if (groups.factors) groups.factors[r] = by.scale;
}

bool group_norm(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const NormalizeGroupsSpec*>(specification);
  Addresses next(addresses);
  Groups groups{};
  groups.from = next.take();
  groups.weights = next.take_if(spec.has_weight);
  groups.biases = next.take_if(spec.has_bias);
  groups.to = next.take();
  groups.means = next.take_if(spec.has_statistics);
  groups.factors = next.take_if(spec.has_statistics);
  share(spec.parts, spec.batch * spec.groups, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) normalize_group(spec, groups, r);
  });
  return true;
}

// ---- batch norm with known statistics ----

// Rows begin .. end - 1, with the channels innermost.
void scale_across(const ScaleChannelsSpec& spec, const float* from, const float* scale, const float* shift, float* to,
                  int64_t begin, int64_t end) {
  const auto step = [&](int64_t c, const auto& lanes) {
    const Vec by = lanes.load(scale + c), plus = lanes.load(shift + c);
    for (int64_t o = begin; o < end; ++o) {
      const int64_t at = o * spec.channels + c;
      lanes.store(at::vec::fmadd(lanes.load(from + at), by, plus), to + at);
    }
  };
  int64_t c = 0;
  for (; c + kLanes <= spec.channels; c += kLanes) step(c, AllLanes());
  if (c < spec.channels) step(c, Lanes(spec.channels - c));
}

bool scale_channels(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const ScaleChannelsSpec*>(specification);
  Addresses next(addresses);
  const float* from = next.take();
  const float* scale = next.take();
  const float* shift = next.take();
  float* to = next.take();
  if (spec.inner == 1) {
    share(spec.parts, spec.outer,
          [&](int64_t begin, int64_t end) { scale_across(spec, from, scale, shift, to, begin, end); });
    return true;
  }
  share_pieces(spec.parts, spec.outer, spec.channels, [&](int64_t o, int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
      const int64_t at = (o * spec.channels + c) * spec.inner;
      scale_run(from + at, spec.inner, 0.0f, scale[c], shift[c], to + at);
    }
  });
  return true;
}

bool fold_batch_norm(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const FoldBatchNormSpec*>(specification);
  Addresses next(addresses);
  const float* mean = next.take();
  const float* variance = next.take();
  const float* weight = next.take_if(spec.has_weight);
  const float* bias = next.take_if(spec.has_bias);
  float* scale = next.take();
  float* shift = next.take();
  for (int64_t c = 0; c < spec.channels; ++c) {
    const float factor = 1.0f / std::sqrt(variance[c] + spec.eps);
    scale[c] = weight ? factor * weight[c] : factor;
    shift[c] = (bias ? bias[c] : 0.0f) - mean[c] * scale[c];
  }
  return true;
}

}  // namespace

const RowKernels row_kernels{
    .softmax = softmax<false>,
    .log_softmax = softmax<true>,
    .log_sum_exp = log_sum_exp,
    .running_sum = running_sum,
    .layer_norm = layer_norm,
    .rms_norm = rms_norm,
    .group_norm = group_norm,
    .scale_channels = scale_channels,
    .fold_batch_norm = fold_batch_norm,
};

}  // namespace stator::CPU_CAPABILITY
