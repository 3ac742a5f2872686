// Dimensions of a tensor taken together: what binders ask about shapes before they fill a specification.
#pragma once

#include <ATen/core/ivalue.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/tensor_meta.h"

namespace stator {

// Specifications count in bytes.
constexpr int64_t kFloatBytes = sizeof(float);

// Elements at equal distances. A single one has any stride.
struct Run {
  int64_t size = 1;
  int64_t stride = 1;
};

// The dimensions [first, last) as one run, in their order; nullopt if they are none. Sizes must not be 0.
std::optional<Run> collapse(const TensorMeta& meta, int64_t first, int64_t last);

// What is before a dimension, the dimension, what is behind it.
struct AroundDim {
  Run outer, dim, inner;
};
std::optional<AroundDim> collapse_around(const TensorMeta& meta, int64_t dim);

// As collapse(): those in `reduced`, and the others as two runs at most.
struct KeptAndReduced {
  std::array<Run, 2> kept;
  Run reduced;
};
std::optional<KeptAndReduced> collapse_but(const TensorMeta& meta, const std::vector<bool>& reduced);

// Whether the elements of a run are neighbours.
inline bool is_dense(Run run) { return run.size == 1 || run.stride == 1; }

// A dimension that may count from the end; nullopt if it is out of range, or nothing has a dimension.
std::optional<int64_t> wrapped_dim(const c10::IValue* value, int64_t dims);

// Which of `dims` dimensions a list names, all if it is empty or None. nullopt: out of range, twice, or not known.
std::optional<std::vector<bool>> named_dims(const c10::IValue* value, int64_t dims);

// None, for what is known.
inline bool is_none(const c10::IValue* value) { return value && value->isNone(); }

inline std::optional<bool> known_bool(const c10::IValue* value) {
  if (!value || !value->isBool()) return std::nullopt;
  return value->toBool();
}

}  // namespace stator
