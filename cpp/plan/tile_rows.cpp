// Some rows of a pointwise expression.
#include <algorithm>
#include <utility>

#include "plan/tile_expression.h"

namespace stator {
namespace {

// Some dimensions: from `begin` on and before `end`.
struct Dimensions {
  size_t begin, end;
};

// So few from `begin` on that they have `count` elements; nullopt: none do.
std::optional<Dimensions> leading(at::IntArrayRef sizes, size_t begin, int64_t count) {
  int64_t elements = 1;
  size_t end = begin;
  while (elements < count && end < sizes.size()) elements *= sizes[end++];
  return elements == count ? std::optional(Dimensions{begin, end}) : std::nullopt;
}

// Of the dimensions as one; nullopt: elements do not lie at equal distances.
std::optional<int64_t> stride_of(at::IntArrayRef sizes, at::IntArrayRef strides, Dimensions dims) {
  int64_t stride = 0, next = -1;
  for (size_t d = dims.end; d-- > dims.begin;) {
    if (sizes[d] == 1) continue;
    if (next < 0) {
      stride = strides[d];
    } else if (strides[d] != next) {
      return std::nullopt;
    }
    next = strides[d] * sizes[d];
  }
  return stride;
}

}  // namespace

std::optional<TileExpression> TileExpression::some_rows(int64_t outer, int64_t inner, int64_t count) const {
  const auto outside = leading(sizes_, 0, outer);
  const auto rows = outside ? leading(sizes_, outside->end, inner) : std::nullopt;
  if (!rows) return std::nullopt;
  at::DimVector sizes{1, count};
  sizes.append(sizes_.begin() + static_cast<ptrdiff_t>(rows->end), sizes_.end());
  TileExpression some(sizes);
  some.nodes_ = nodes_;
  some.stores_ = stores_;
  const auto cut = [&](TensorMeta& meta) {
    const auto to_outer = stride_of(sizes_, meta.strides, *outside), to_row = stride_of(sizes_, meta.strides, *rows);
    if (!to_outer || !to_row) return false;
    at::DimVector strides{*to_outer, *to_row};
    strides.append(meta.strides.begin() + static_cast<ptrdiff_t>(rows->end), meta.strides.end());
    meta.sizes = Dims(sizes);
    meta.strides = Dims(strides);
    return true;
  };
  const bool lie_so =
      std::all_of(some.nodes_.begin(), some.nodes_.end(),
                  [&](NodeData& node) { return node.kind != NodeData::Kind::kLoad || cut(node.view.meta); }) &&
      std::all_of(some.stores_.begin(), some.stores_.end(), [&](Store& store) { return cut(store.to.meta); });
  return lie_so ? std::optional(std::move(some)) : std::nullopt;
}

}  // namespace stator
