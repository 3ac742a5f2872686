// How alike two tensors of vectors are: a reduction of what is pointwise, as torch.nn.functional defines them.
#include <ATen/ExpandUtils.h>

#include "kernels/dispatch.h"
#include "plan/collapse.h"
#include "plan/reduction.h"

namespace stator {
namespace {

using O = TileOpcode;
using TileNode = TileExpression::Node;

// Two tensors of float32 and the shape that they are broadcast to.
struct Compared {
  TensorView a, b;
  at::DimVector sizes;
};

std::optional<Compared> pair(const Binding& binding) {
  const TensorView *a = binding.tensor(0), *b = binding.tensor(1);
  if (!a || !b || a->meta.dtype != at::kFloat || b->meta.dtype != at::kFloat) return std::nullopt;
  return Compared{*a, *b, at::infer_size_dimvector(a->meta.sizes, b->meta.sizes)};
}

std::optional<Reduction> over_one(Binding& binding, const TensorMeta& meta, int64_t dim, bool keep) {
  if (dim < 0) return std::nullopt;
  std::vector<bool> reduced(meta.dim(), false);
  reduced[dim] = true;
  auto found = reduction(meta, reduced, keep);
  return found && share(binding, found->spec) ? found : std::nullopt;
}

// (x1, x2, dim, eps): the sum of the products of vectors that are divided by their lengths, at least `eps`.
bool cosine_similarity(Binding& binding) {
  const auto both = pair(binding);
  const c10::IValue* eps = binding.known(3);
  if (!both || !eps || !eps->isDouble()) return false;
  const auto dims = static_cast<int64_t>(both->sizes.size());
  const auto dim = wrapped_dim(binding.known(2), dims);
  if (!dim) return false;
  const TensorMeta products = TensorMeta::contiguous(at::kFloat, both->sizes);
  // A vector that is broadcast along `dim` has another length than its elements here.
  const auto length = [&](const TensorView& x) -> std::optional<Reduction> {
    const int64_t own = *dim - dims + x.meta.dim();
    if (own < 0 || x.meta.sizes[own] != both->sizes[*dim]) return std::nullopt;
    return over_one(binding, x.meta, own, true);
  };
  const auto length_a = length(both->a), length_b = length(both->b), sum = over_one(binding, products, *dim, false);
  if (!length_a || !length_b || !sum) return false;

  TileExpression tile(both->sizes);
  const TileNode least = tile.number(eps->toDouble(), TileType::kFloat);
  const auto direction = [&](const TensorView& x, const Reduction& length) {
    const TensorView norm = binding.scratch(at::kFloat, length.sizes);
    binding.run_with(kernels().reductions->norm, length.spec, {x}, {norm});
    return tile.op(O::kDiv, tile.load(x), tile.op(O::kMax, tile.load(norm), least));
  };
  const TileNode a = direction(both->a, *length_a), b = direction(both->b, *length_b);
  const TensorView product = binding.scratch(at::kFloat, both->sizes);
  tile.store(tile.op(O::kMul, a, b), product);
  binding.run(std::move(tile));
  binding.run_with(kernels().reductions->sum, sum->spec, {product}, {binding.result(0, at::kFloat, sum->sizes)});
  return true;
}

// (x1, x2, p, eps, keepdim): the Euclidean length of x1 - x2 + eps along the last dimension.
bool pairwise_distance(Binding& binding) {
  const auto both = pair(binding);
  const c10::IValue *p = binding.known(2), *eps = binding.known(3);
  const auto keep = known_bool(binding.known(4));
  if (!both || !p || !p->isDouble() || p->toDouble() != 2 || !eps || !eps->isDouble() || !keep) return false;
  const TensorMeta differences = TensorMeta::contiguous(at::kFloat, both->sizes);
  const auto length = over_one(binding, differences, differences.dim() - 1, *keep);
  if (!length) return false;

  TileExpression tile(both->sizes);
  const TileNode difference = tile.op(O::kSub, tile.load(both->a), tile.load(both->b));
  const TensorView apart = binding.scratch(at::kFloat, both->sizes);
  tile.store(tile.op(O::kAdd, difference, tile.number(eps->toDouble(), TileType::kFloat)), apart);
  binding.run(std::move(tile));
  binding.run_with(kernels().reductions->norm, length->spec, {apart}, {binding.result(0, at::kFloat, length->sizes)});
  return true;
}

const BinderRegistration kCosine("aten::cosine_similarity", cosine_similarity);
const BinderRegistration kDistance("aten::pairwise_distance", pairwise_distance);

}  // namespace
}  // namespace stator
