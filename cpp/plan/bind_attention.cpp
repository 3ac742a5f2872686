// Scaled dot product attention in float32 as one bound kernel.
#include <ATen/ExpandUtils.h>
#include <c10/core/Contiguity.h>

#include <cmath>

#include "kernels/dispatch.h"
#include "ops/short_loops.h"
#include "plan/binding.h"
#include "plan/collapse.h"
#include "plan/parts.h"

namespace stator {
namespace {

// More multiplications than this are for ATen: 4 heads of 1024 by 1024, 64 wide, are 0.93 as fast here; 64 by 64 1.1 times, 16 by 16 2.6.
constexpr int64_t kMostOfAttention = int64_t{1} << 27;

// [batches, heads, rows, columns], of three dimensions without the batches.
struct Heads {
  int64_t sizes[4], strides[4];
};

std::optional<Heads> heads_of(const TensorView* view, int64_t dim) {
  if (!view || view->meta.dtype != at::kFloat || view->meta.dim() != dim || view->meta.numel() == 0)
    return std::nullopt;
  if (view->meta.strides.back() != 1) return std::nullopt;
  Heads heads{{1, 1, 1, 1}, {0, 0, 0, 1}};
  for (int64_t d = 0; d < dim; ++d) {
    heads.sizes[4 - dim + d] = view->meta.sizes[d];
    heads.strides[4 - dim + d] = view->meta.strides[d];
  }
  return heads;
}

bool set_scale(const Binding& binding, AttentionSpec& spec) {
  const c10::IValue* scale = binding.known(6);
  if (!scale || !(scale->isNone() || scale->isDouble())) return false;
  spec.scale =
      static_cast<float>(scale->isNone() ? 1.0 / std::sqrt(static_cast<double>(spec.depth)) : scale->toDouble());
  return true;
}

// Masks of two or four dimensions that broadcast; LibTorch goes another way with those of three.
bool set_mask(const TensorView& mask, int64_t dim, AttentionSpec& spec) {
  if (mask.meta.dtype != at::kFloat && mask.meta.dtype != at::kBool) return false;
  if (mask.meta.dim() != 2 && (mask.meta.dim() != 4 || dim != 4)) return false;
  const int64_t wanted[] = {spec.batches, spec.heads, spec.queries, spec.keys}, missing = 4 - mask.meta.dim();
  for (int64_t d = missing; d < 4; ++d) {
    const int64_t size = mask.meta.sizes[d - missing];
    if (size != 1 && size != wanted[d]) return false;
    spec.mask[d] = size == 1 ? 0 : mask.meta.strides[d - missing];
  }
  spec.mask_kind = mask.meta.dtype == at::kBool ? AttentionSpec::Mask::kBool : AttentionSpec::Mask::kFloat;
  return true;
}

void set_steps(int64_t (&steps)[3], const int64_t (&strides)[4]) {
  for (int i = 0; i < 3; ++i) steps[i] = strides[i];
}

// Without a mask, dropout and shared heads; false if sizes do not fit.
bool set_sizes(const Heads& q, const Heads& k, const Heads& v, AttentionSpec& spec) {
  for (int d : {0, 1}) {
    if (q.sizes[d] != k.sizes[d] || q.sizes[d] != v.sizes[d]) return false;
  }
  // LibTorch has another way, with another result in memory, for values of another width.
  if (q.sizes[3] != k.sizes[3] || k.sizes[2] != v.sizes[2] || v.sizes[3] != q.sizes[3]) return false;
  spec.batches = q.sizes[0];
  spec.heads = q.sizes[1];
  spec.queries = q.sizes[2];
  spec.keys = k.sizes[2];
  spec.depth = q.sizes[3];
  spec.columns = v.sizes[3];
  set_steps(spec.q, q.strides);
  set_steps(spec.k, k.strides);
  set_steps(spec.v, v.strides);
  return true;
}

double multiplications(const AttentionSpec& spec) {
  const double scores = static_cast<double>(spec.batches) * spec.heads * spec.queries * spec.keys;
  return scores * (spec.depth + spec.columns);
}

// The result's steps; false if elements of its rows are no neighbours.
bool place(AttentionSpec& spec, const TensorMeta& result) {
  const int64_t dim = result.dim();
  for (int64_t d = 0; d < dim - 1; ++d) spec.out[3 - (dim - 1) + d] = result.strides[d];
  return result.sizes.back() == 1 || result.strides.back() == 1;
}

// Of what LibTorch makes like another tensor.
at::DimVector strides_like(const TensorMeta& meta) {
  if (c10::_compute_non_overlapping_and_dense<int64_t>(meta.sizes, meta.strides)) return meta.strides;
  return at::DimVector(at::infer_dense_strides(meta.sizes, meta.strides));
}

// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
bool bind_attention(Binding& binding) {
  const TensorView* query = binding.tensor(0);
  const int64_t dim = query ? query->meta.dim() : 0;
  if (dim != 3 && dim != 4) return false;
  const auto q = heads_of(query, dim), k = heads_of(binding.tensor(1), dim), v = heads_of(binding.tensor(2), dim);
  AttentionSpec spec{};
  if (!q || !k || !v || !set_sizes(*q, *k, *v, spec) || !set_scale(binding, spec)) return false;
  if (multiplications(spec) > kMostOfAttention && !binding.beats_any_size()) return false;
  spec.parts = binding.parts(multiplications(spec) * kMultiplicationNanoseconds);
  // Where heads are fewer than threads, LibTorch shares their rows as well.
  if (spec.parts > spec.batches * spec.heads) return false;
  const c10::IValue* dropout = binding.known(4);
  if (!dropout || !dropout->isDouble() || dropout->toDouble() != 0.0 || known_bool(binding.known(7)) != false)
    return false;
  const std::optional<bool> causal = known_bool(binding.known(5));
  if (!causal) return false;
  spec.causal = *causal;
  const TensorView* mask = binding.tensor(3);
  const bool no_mask = binding.known(3) && binding.known(3)->isNone();
  if (!no_mask && (!mask || spec.causal || !set_mask(*mask, dim, spec))) return false;

  // LibTorch's result is like the query in memory.
  const TensorMeta& like = query->meta;
  const TensorView result = binding.result(0, at::kFloat, like.sizes, strides_like(like));
  place(spec, result.meta);
  const AttentionKernels& table = *kernels().attention;
  const TensorView scratch =
      binding.scratch(at::kFloat, {spec.parts * attention_scratch(spec.keys, spec.depth, table.panel)});
  std::vector<TensorView> reads{*query, *binding.tensor(1), *binding.tensor(2)};
  if (mask) reads.push_back(*mask);
  binding.run_with(table.attend, spec, std::move(reads), {result, scratch});
  binding.can_place<AttentionSpec>(place);
  return true;
}

const BinderRegistration kAttention{"aten::scaled_dot_product_attention", bind_attention};

}  // namespace
}  // namespace stator
