#include "plan/restride.h"

#include <algorithm>

namespace stator {
namespace {

// A dimension of what is seen: elements, and from one to the next here and there.
struct Stretch {
  int64_t size, from, to;
};

// Largest steps first.
std::vector<Stretch> stretches(const TensorMeta& from, at::IntArrayRef to) {
  std::vector<Stretch> out;
  for (size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d] != 1) out.push_back({from.sizes[d], from.strides[d], to[d]});
  }
  std::stable_sort(out.begin(), out.end(), [](const Stretch& a, const Stretch& b) { return a.from > b.from; });
  return out;
}

// Takes a dimension off the smallest steps: its stride there.
std::optional<int64_t> take(std::vector<Stretch>& stretches, int64_t size, int64_t stride) {
  int64_t there = 0;
  for (int64_t taken = 1; taken < size;) {
    if (stretches.empty()) return std::nullopt;
    Stretch& last = stretches.back();
    const int64_t wanted = size / taken, part = std::min(wanted, last.size);
    if (wanted % part != 0 || last.size % part != 0 || last.from != stride * taken) return std::nullopt;
    if (taken == 1) there = last.to;
    if (last.to != there * taken) return std::nullopt;
    last = {last.size / part, last.from * part, last.to * part};
    if (last.size == 1) stretches.pop_back();
    taken *= part;
  }
  return there;
}

}  // namespace

std::optional<at::DimVector> restrided(const TensorMeta& tensor, const TensorMeta& from, at::IntArrayRef to) {
  if (tensor.numel() != from.numel() || tensor.numel() == 0) return std::nullopt;
  std::vector<Stretch> seen = stretches(from, to);
  std::vector<size_t> dims;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] != 1) dims.push_back(d);
  }
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  at::DimVector strides = tensor.strides;
  for (size_t d : dims) {
    const auto stride = take(seen, tensor.sizes[d], tensor.strides[d]);
    if (!stride) return std::nullopt;
    strides[d] = *stride;
  }
  return strides;
}

bool is_dense(const TensorMeta& meta) {
  int64_t expected = 1;
  const std::vector<Stretch> from_largest = stretches(meta, meta.strides);
  for (size_t i = from_largest.size(); i-- > 0;) {
    if (from_largest[i].from != expected) return false;
    expected *= from_largest[i].size;
  }
  return true;
}

bool same_strides(const TensorMeta& a, const TensorMeta& b) {
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

}  // namespace stator
