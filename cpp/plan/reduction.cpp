#include "plan/reduction.h"

#include "plan/collapse.h"

namespace stator {

std::optional<Reduction> reduction(const TensorMeta& meta, const std::vector<bool>& reduced, bool keep) {
  if (meta.numel() == 0) return std::nullopt;
  const auto runs = collapse_but(meta, reduced);
  if (!runs) return std::nullopt;
  Run outer = runs->kept[0], inner = runs->kept[1];
  // Rows side by side are taken as columns.
  if (inner.size == 1 && outer.stride == 1 && (runs->reduced.stride != 1 || runs->reduced.size == 1))
    std::swap(outer, inner);
  Reduction result{{.outer = outer.size,
                    .reduced = runs->reduced.size,
                    .inner = inner.size,
                    .outer_stride = outer.stride,
                    .reduced_stride = runs->reduced.stride,
                    .inner_stride = inner.stride},
                   {}};
  for (int64_t d = 0; d < meta.dim(); ++d) {
    if (!reduced[d]) result.sizes.push_back(meta.sizes[d]);
    if (reduced[d] && keep) result.sizes.push_back(1);
  }
  return result;
}

bool share(Binding& binding, ReductionSpec& spec, bool cut_by_libtorch) {
  constexpr double kNanoseconds = 0.2;  // an element
  spec.parts =
      binding.parts(static_cast<double>(spec.outer * spec.inner) * static_cast<double>(spec.reduced) * kNanoseconds);
  if (spec.parts <= spec.outer * spec.inner) return true;
  spec.parts = spec.outer * spec.inner;
  return !cut_by_libtorch;
}

}  // namespace stator
