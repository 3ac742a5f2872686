#include "plan/collapse.h"

namespace stator {
namespace {

// One more dimension of a run, inside of what it has.
bool extend(Run& run, int64_t size, int64_t stride) {
  if (size == 1) return true;
  if (run.size != 1 && run.stride != size * stride) return false;
  run = {run.size * size, stride};
  return true;
}

}  // namespace

std::optional<Run> collapse(const TensorMeta& meta, int64_t first, int64_t last) {
  Run run;
  for (int64_t d = first; d < last; ++d) {
    if (!extend(run, meta.sizes[d], meta.strides[d])) return std::nullopt;
  }
  return run;
}

std::optional<AroundDim> collapse_around(const TensorMeta& meta, int64_t dim) {
  const auto outer = collapse(meta, 0, dim), at = collapse(meta, dim, dim + 1),
             inner = collapse(meta, dim + 1, meta.dim());
  if (!outer || !inner) return std::nullopt;
  return AroundDim{*outer, *at, *inner};
}

std::optional<KeptAndReduced> collapse_but(const TensorMeta& meta, const std::vector<bool>& reduced) {
  KeptAndReduced result;
  size_t group = 0;
  for (int64_t d = 0; d < meta.dim(); ++d) {
    const int64_t size = meta.sizes[d], stride = meta.strides[d];
    if (reduced[d]) {
      if (!extend(result.reduced, size, stride)) return std::nullopt;
    } else if (!extend(result.kept[group], size, stride)) {
      if (++group == result.kept.size()) return std::nullopt;
      extend(result.kept[group], size, stride);
    }
  }
  return result;
}

std::optional<int64_t> wrapped_dim(const c10::IValue* value, int64_t dims) {
  if (!value || !value->isInt()) return std::nullopt;
  const int64_t dim = value->toInt();
  if (dim < -dims || dim >= dims) return std::nullopt;
  return dim < 0 ? dim + dims : dim;
}

std::optional<std::vector<bool>> named_dims(const c10::IValue* value, int64_t dims) {
  if (!value) return std::nullopt;
  std::vector<bool> named(dims, false);
  if (value->isNone()) return std::vector<bool>(dims, true);
  if (value->isIntList()) {
    const auto list = value->toIntList();
    if (list.empty()) return std::vector<bool>(dims, true);
    for (size_t i = 0; i < list.size(); ++i) {
      const c10::IValue element(list.get(i));
      const auto dim = wrapped_dim(&element, dims);
      if (!dim || named[*dim]) return std::nullopt;
      named[*dim] = true;
    }
    return named;
  }
  const auto dim = wrapped_dim(value, dims);
  if (!dim) return std::nullopt;
  named[*dim] = true;
  return named;
}

}  // namespace stator
