// A reduction as its kernels take it, for binders.
#pragma once

#include <optional>
#include <vector>

#include "kernels/reductions.h"
#include "plan/binding.h"

namespace stator {

struct Reduction {
  ReductionSpec spec;
  at::DimVector sizes;  // of the results
};

// `keep`: reduced dimensions stay, with one element. nullopt: there are no elements, or they are not in few enough runs.
std::optional<Reduction> reduction(const TensorMeta& meta, const std::vector<bool>& reduced, bool keep);

// Sets in how many parts the work is shared. Sums are not cut: where there are fewer results than threads, LibTorch does it (but for
// indices), and this gives false.
bool share(Binding& binding, ReductionSpec& spec, bool cut_by_libtorch = true);

}  // namespace stator
