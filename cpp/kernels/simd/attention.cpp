// Attention: attention.h says what it computes. Compiled once per CPU capability.
#include "kernels/attention.h"

#include "kernels/simd/exponential.h"
#include "kernels/simd/matmul_tiles.h"
#include "kernels/simd/share.h"

namespace stator::CPU_CAPABILITY {

extern const AttentionKernels attention_kernels;

namespace {

using Mask = AttentionSpec::Mask;

constexpr float kNothing = -__builtin_inff();

struct Head {
  const float *q, *k, *v;
  const void* mask;
  float *out, *panels, *scores;
  int64_t score_row;
};

// Rows of scores are as long as whole panels, so that vectors may reach beyond the keys.
template <class F>
STATOR_INLINE void change_scores(float* scores, int64_t keys, const F& f) {
  for (int64_t i = 0; i < keys; i += kWidth) store(f(load(scores + i)), scores + i);
}

// One row of scores: times scale, and masked. Returns how many keys count; those behind are not looked at any more.
int64_t mask_row(const AttentionSpec& spec, const Head& head, int64_t query, float* scores) {
  const int64_t keys = spec.causal ? least(spec.keys, query + 1) : spec.keys;
  change_scores(scores, keys, [&](Lanes some) { return some * spec.scale; });
  const int64_t step = spec.mask[3];
  if (spec.mask_kind == Mask::kFloat) {
    const float* mask = static_cast<const float*>(head.mask) + query * spec.mask[2];
    if (step == 1) {
      for (int64_t i = 0; i < keys; ++i) scores[i] += mask[i];
    } else {
      for (int64_t i = 0; i < keys; ++i) scores[i] += mask[i * step];
    }
  } else if (spec.mask_kind == Mask::kBool) {
    const auto* mask = static_cast<const uint8_t*>(head.mask) + query * spec.mask[2];
    for (int64_t i = 0; i < keys; ++i) scores[i] = mask[i * step] ? scores[i] : kNothing;
  }
  return keys;
}

// exp(scores - largest), not divided by their sum, which is returned, and is NaN if a score is. Zeros behind `keys`.
float exponentials(float* scores, int64_t keys, int64_t all) {
  const int64_t padded = quotient_up(keys, kWidth) * kWidth;
  for (int64_t i = keys; i < padded; ++i) scores[i] = kNothing;
  Lanes most = all_lanes(kNothing);
  for (int64_t i = 0; i < padded; i += kWidth) most = greater(load(scores + i), most);
  float largest = greatest_of(most);
  if (largest == kNothing) largest = 0.0f;
  Lanes sums{};
  change_scores(scores, keys, [&](Lanes some) {
    const Lanes value = exp_of_negative(some - largest);
    sums += value;
    return value;
  });
  for (int64_t i = padded; i < all; ++i) scores[i] = 0.0f;
  return sum_of(sums);
}

// Some rows of q against all keys.
void attend_rows(const AttentionSpec& spec, const Head& head, int64_t query, int64_t rows) {
  multiply<Last::kPartOfPanel>(Product<>{rows, spec.keys, spec.depth, head.q + query * spec.q[2], spec.q[2], 1,
                                         head.panels, kPanel, kPanel * spec.depth, head.scores, head.score_row});
  int64_t most_keys = 0;
  for (int64_t r = 0; r < rows; ++r) {
    float* scores = head.scores + r * head.score_row;
    const int64_t keys = mask_row(spec, head, query + r, scores);
    const float sum = exponentials(scores, keys, spec.keys);
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    change_scores(scores, keys, [&](Lanes some) { return some * factor; });
    most_keys = keys > most_keys ? keys : most_keys;
  }
  multiply<Last::kPart>(Product<>{rows, spec.columns, most_keys, head.scores, head.score_row, 1, head.v, spec.v[2],
                                  kPanel, head.out + query * spec.out[2], spec.out[2]});
}

void attend_head(const AttentionSpec& spec, const Head& head) {
  pack_panels(head.k, 1, spec.k[2], spec.depth, spec.keys, head.panels);
  const int64_t rows = part_of(spec.queries, kAttentionRows);
  for (int64_t query = 0; query < spec.queries; query += rows) {
    attend_rows(spec, head, query, least(rows, spec.queries - query));
  }
}

Head head_of(const AttentionSpec& spec, void* const* addresses, int64_t b, int64_t h, float* scratch) {
  const bool masked = spec.mask_kind != Mask::kNone;
  Head head{};
  head.q = static_cast<const float*>(addresses[0]) + b * spec.q[0] + h * spec.q[1];
  head.k = static_cast<const float*>(addresses[1]) + b * spec.k[0] + h * spec.k[1];
  head.v = static_cast<const float*>(addresses[2]) + b * spec.v[0] + h * spec.v[1];
  if (masked) {
    const int64_t size = spec.mask_kind == Mask::kFloat ? sizeof(float) : 1;
    head.mask = static_cast<const char*>(addresses[3]) + (b * spec.mask[0] + h * spec.mask[1]) * size;
  }
  head.out = static_cast<float*>(addresses[masked ? 4 : 3]) + b * spec.out[0] + h * spec.out[1];
  head.score_row = quotient_up(spec.keys, kPanel) * kPanel;
  head.panels = scratch;
  head.scores = scratch + head.score_row * spec.depth;
  return head;
}

// Some of all heads, with scratch of its own.
void attend_part(const AttentionSpec& spec, void* const* addresses, int64_t part) {
  const int64_t heads = spec.batches * spec.heads, padded = quotient_up(spec.keys, kPanel) * kPanel;
  auto* scratch = static_cast<float*>(addresses[spec.mask_kind == Mask::kNone ? 4 : 5]);
  scratch += part * (padded * spec.depth + kAttentionRows * padded);
  for (int64_t i = part * heads / spec.parts; i < (part + 1) * heads / spec.parts; ++i) {
    attend_head(spec, head_of(spec, addresses, i / spec.heads, i % spec.heads, scratch));
  }
}

bool attend(const void* specification, void* const* addresses) {
  const auto& spec = *static_cast<const AttentionSpec*>(specification);
  share(spec.parts, spec.parts, [&](int64_t part, int64_t end) {
    for (; part < end; ++part) attend_part(spec, addresses, part);
  });
  return true;
}

}  // namespace

const AttentionKernels attention_kernels{kPanel, attend};

}  // namespace stator::CPU_CAPABILITY
