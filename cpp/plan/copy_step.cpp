#include "plan/copy_step.h"

#include <algorithm>
#include <vector>

namespace stator {
namespace {

// Bytes from one to the next.
struct Dim {
  int64_t size, from, to;
};

// Largest steps in what is written first.
std::vector<Dim> dims_of(const TensorMeta& from, const TensorMeta& to) {
  const int64_t bytes = to.itemsize();
  std::vector<Dim> dims;
  for (size_t d = 0; d < to.sizes.size(); ++d) {
    if (to.sizes[d] != 1) dims.push_back({to.sizes[d], from.strides[d] * bytes, to.strides[d] * bytes});
  }
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.to > b.to; });
  return dims;
}

// Dimensions that run on from one another in both become one.
std::vector<Dim> joined(const std::vector<Dim>& dims) {
  std::vector<Dim> out;
  for (const Dim& dim : dims) {
    const bool runs_on = !out.empty() && out.back().from == dim.size * dim.from && out.back().to == dim.size * dim.to;
    runs_on ? void(out.back() = {out.back().size * dim.size, dim.from, dim.to}) : out.push_back(dim);
  }
  return out;
}

}  // namespace

std::optional<CopySpec> copy_spec(const TensorMeta& from, const TensorMeta& to) {
  std::vector<Dim> dims = joined(dims_of(from, to));
  CopySpec spec{};
  spec.bytes = to.itemsize();
  if (!dims.empty() && dims.back().from == spec.bytes && dims.back().to == spec.bytes) {
    spec.bytes *= dims.back().size;
    dims.pop_back();
  }
  if (dims.empty()) dims.push_back({1, 0, 0});
  if (dims.size() > kMostCopyDims) return std::nullopt;
  spec.dims = static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    spec.sizes[d] = dims[d].size;
    spec.from[d] = dims[d].from;
    spec.to[d] = dims[d].to;
  }
  return spec;
}

}  // namespace stator
