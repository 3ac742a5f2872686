// Views: new tensors on an argument's memory. Arguments that LibTorch would refuse are handed to it, so that the error is its own.
#include "ops/views.h"

#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>

#include <algorithm>
#include <utility>

#include "ops/fallback.h"
#include "ops/registry.h"
#include "ops/tensors.h"

namespace stator {

std::optional<at::Tensor> try_view(const at::Tensor& self, at::IntArrayRef sizes) {
  const auto strides = at::detail::computeStride(self.sizes(), self.strides(), at::DimVector(sizes));
  if (!strides) return std::nullopt;
  return make_view(self, sizes, *strides, self.storage_offset());
}

namespace {

// Sizes, strides and offset of the argument, to be changed into those of the view.
struct Shape {
  explicit Shape(const at::Tensor& self)
      : sizes(self.sizes()), strides(self.strides()), offset(self.storage_offset()) {}
  at::DimVector sizes;
  at::DimVector strides;
  int64_t offset;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  // Wraps a dimension, false if there is none such.
  bool wrap(int64_t& dim) const {
    if (dim < 0) dim += rank();
    return dim >= 0 && dim < rank();
  }
  void remove(int64_t dim) {
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
};

// An operator that is a change of shape. `change` returns false to leave the call to LibTorch.
template <bool (*change)(const Call&, Shape&)>
void view(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  Shape shape(self);
  if (!change(call, shape)) return run_boxed(call);
  call.out() = make_view(self, shape.sizes, shape.strides, shape.offset);
}

bool unchanged(const Call&, Shape&) { return true; }

bool transpose(const Call& call, Shape& shape) {
  int64_t a = call.in(1).toInt(), b = call.in(2).toInt();
  if (!shape.wrap(a) || !shape.wrap(b)) return false;
  std::swap(shape.sizes[a], shape.sizes[b]);
  std::swap(shape.strides[a], shape.strides[b]);
  return true;
}

bool t(const Call&, Shape& shape) {
  if (shape.rank() > 2) return false;
  if (shape.rank() == 2) {
    std::swap(shape.sizes[0], shape.sizes[1]);
    std::swap(shape.strides[0], shape.strides[1]);
  }
  return true;
}

bool permute(const Call& call, Shape& shape) {
  const at::DimVector dims = call.in(1).toDimVector();
  if (static_cast<int64_t>(dims.size()) != shape.rank()) return false;
  const Shape from = shape;
  uint64_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = dims[i];
    if (!from.wrap(dim) || dim > 63 || (seen >> dim & 1)) return false;
    seen |= uint64_t{1} << dim;
    shape.sizes[i] = from.sizes[dim];
    shape.strides[i] = from.strides[dim];
  }
  return true;
}

bool squeeze(const Call&, Shape& shape) {
  for (int64_t dim = shape.rank() - 1; dim >= 0; --dim) {
    if (shape.sizes[dim] == 1) shape.remove(dim);
  }
  return true;
}

bool squeeze_dim(const Call& call, Shape& shape) {
  int64_t dim = call.in(1).toInt();
  if (!shape.wrap(dim)) return false;
  if (shape.sizes[dim] == 1) shape.remove(dim);
  return true;
}

bool squeeze_dims(const Call& call, Shape& shape) {
  uint64_t chosen = 0;
  for (int64_t dim : call.in(1).toDimVector()) {
    if (!shape.wrap(dim) || dim > 63 || (chosen >> dim & 1)) return false;
    chosen |= uint64_t{1} << dim;
  }
  for (int64_t dim = std::min<int64_t>(shape.rank(), 64) - 1; dim >= 0; --dim) {
    if ((chosen >> dim & 1) && shape.sizes[dim] == 1) shape.remove(dim);
  }
  return true;
}

bool unsqueeze(const Call& call, Shape& shape) {
  int64_t dim = call.in(1).toInt();
  if (dim < 0) dim += shape.rank() + 1;
  if (dim < 0 || dim > shape.rank()) return false;
  const int64_t stride = dim == shape.rank() ? 1 : shape.sizes[dim] * shape.strides[dim];
  shape.sizes.insert(shape.sizes.begin() + dim, 1);
  shape.strides.insert(shape.strides.begin() + dim, stride);
  return true;
}

bool select_index(Shape& shape, int64_t dim, int64_t index) {
  if (!shape.wrap(dim)) return false;
  if (index < 0) index += shape.sizes[dim];
  if (index < 0 || index >= shape.sizes[dim]) return false;
  shape.offset += index * shape.strides[dim];
  shape.remove(dim);
  return true;
}

bool select(const Call& call, Shape& shape) { return select_index(shape, call.in(1).toInt(), call.in(2).toInt()); }

bool slice(const Call& call, Shape& shape) {
  int64_t dim = call.in(1).toInt();
  const int64_t step = call.in(4).toInt();
  if (!shape.wrap(dim) || step <= 0) return false;
  const int64_t size = shape.sizes[dim];
  const auto bound = [size](const c10::IValue& value, int64_t absent) {
    if (value.isNone()) return absent;
    const int64_t index = value.toInt();
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const int64_t start = bound(call.in(2), 0);
  const int64_t end = std::max(start, bound(call.in(3), size));
  const int64_t length = end - start;
  shape.offset += start * shape.strides[dim];
  shape.sizes[dim] = length / step + (length % step != 0);
  // A step far beyond the size would overflow the stride; LibTorch's own overflows silently, and with at most one element it is never used.
  if (__builtin_mul_overflow(shape.strides[dim], step, &shape.strides[dim])) return false;
  return true;
}

bool narrow(const Call& call, Shape& shape) {
  int64_t dim = call.in(1).toInt(), start = call.in(2).toInt();
  const int64_t length = call.in(3).toInt();
  if (!shape.wrap(dim)) return false;
  const int64_t size = shape.sizes[dim];
  if (start < 0) start += size;
  if (length < 0 || start < 0 || start > size - length) return false;
  shape.offset += start * shape.strides[dim];
  shape.sizes[dim] = length;
  return true;
}

bool expand_to(Shape& shape, at::IntArrayRef wanted) {
  const int64_t added = static_cast<int64_t>(wanted.size()) - shape.rank();
  if (added < 0) return false;
  at::DimVector sizes(wanted), strides(wanted.size(), 0);
  for (int64_t d = static_cast<int64_t>(wanted.size()) - 1; d >= 0; --d) {
    if (d < added) {
      if (wanted[d] < 0) return false;
      // As if the tensor had a dimension of size 1 there; the stride of a dimension that is not repeated shows that.
      if (wanted[d] == 1) strides[d] = d + 1 < static_cast<int64_t>(wanted.size()) ? sizes[d + 1] * strides[d + 1] : 1;
      continue;
    }
    const int64_t size = shape.sizes[d - added];
    if (wanted[d] == -1 || wanted[d] == size) {
      sizes[d] = size;
      strides[d] = shape.strides[d - added];
    } else if (size != 1 || wanted[d] < 0) {
      return false;
    }
  }
  shape.sizes = std::move(sizes);
  shape.strides = std::move(strides);
  return true;
}

bool expand(const Call& call, Shape& shape) { return expand_to(shape, call.in(1).toDimVector()); }

bool expand_as(const Call& call, Shape& shape) {
  return is_plain(call.in(1)) && expand_to(shape, call.tensor(1).sizes());
}

bool view_to(const Call& call, Shape& shape, at::IntArrayRef wanted) {
  at::DimVector sizes = at::infer_size_dv(wanted, call.tensor(0).numel());
  auto strides = at::detail::computeStride(shape.sizes, shape.strides, sizes);
  if (!strides) return false;
  shape.sizes = std::move(sizes);
  shape.strides = std::move(*strides);
  return true;
}

bool view_sizes(const Call& call, Shape& shape) { return view_to(call, shape, call.in(1).toDimVector()); }

bool view_as(const Call& call, Shape& shape) {
  return is_plain(call.in(1)) && view_to(call, shape, call.tensor(1).sizes());
}

void unbind(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  Shape first(self);
  int64_t dim = call.in(1).toInt();
  if (!first.wrap(dim)) return run_boxed(call);
  const int64_t count = first.sizes[dim], stride = first.strides[dim];
  first.remove(dim);
  c10::List<at::Tensor> pieces;
  pieces.reserve(count);
  for (int64_t i = 0; i < count; ++i)
    pieces.push_back(make_view(self, first.sizes, first.strides, first.offset + i * stride));
  call.out() = std::move(pieces);
}

// Pieces of `length` along dim, the last one shorter if need be.
void split_evenly(const Call& call, int64_t length, int64_t dim) {
  const at::Tensor& self = call.tensor(0);
  Shape piece(self);
  if (!piece.wrap(dim) || length <= 0) return run_boxed(call);
  const int64_t size = piece.sizes[dim];
  c10::List<at::Tensor> pieces;
  int64_t start = 0;
  do {
    piece.sizes[dim] = std::min(length, size - start);
    pieces.push_back(make_view(self, piece.sizes, piece.strides, piece.offset + start * piece.strides[dim]));
    start += piece.sizes[dim];
  } while (start < size);
  call.out() = std::move(pieces);
}

void split(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  split_evenly(call, call.in(1).toInt(), call.in(2).toInt());
}

void chunk(const Call& call) {
  const int64_t chunks = call.in(1).toInt(), dim = call.in(2).toInt();
  if (!is_plain(call.in(0)) || chunks <= 0) return run_boxed(call);
  const at::Tensor& self = call.tensor(0);
  const int64_t wrapped = dim < 0 ? dim + self.dim() : dim;
  if (wrapped < 0 || wrapped >= self.dim()) return run_boxed(call);
  const int64_t size = self.size(wrapped);
  split_evenly(call, size / chunks + (size % chunks != 0), wrapped);
}

void split_with_sizes(const Call& call) {
  const at::Tensor& self = call.tensor(0);
  if (!is_plain(self)) return run_boxed(call);
  const at::DimVector lengths = call.in(1).toDimVector();
  int64_t dim = call.in(2).toInt();
  Shape piece(self);
  if (!piece.wrap(dim)) return run_boxed(call);
  int64_t left = piece.sizes[dim];
  for (int64_t length : lengths) {
    if (length < 0 || length > left) return run_boxed(call);
    left -= length;
  }
  if (left != 0) return run_boxed(call);
  c10::List<at::Tensor> pieces;
  pieces.reserve(lengths.size());
  for (int64_t length : lengths) {
    piece.sizes[dim] = length;
    pieces.push_back(make_view(self, piece.sizes, piece.strides, piece.offset));
    piece.offset += length * piece.strides[dim];
  }
  call.out() = std::move(pieces);
}

const Registration kViews[] = {
    {ImplKind::kNative, "aten::alias", view<unchanged>},
    {ImplKind::kNative, "aten::detach", view<unchanged>},
    {ImplKind::kNative, "aten::chunk", chunk},
    {ImplKind::kNative, "aten::expand", view<expand>},
    {ImplKind::kNative, "aten::expand_as", view<expand_as>},
    {ImplKind::kNative, "aten::narrow", view<narrow>},
    {ImplKind::kNative, "aten::permute", view<permute>},
    {ImplKind::kNative, "aten::select.int", view<select>},
    {ImplKind::kNative, "aten::slice.Tensor", view<slice>},
    {ImplKind::kNative, "aten::split.Tensor", split},
    {ImplKind::kNative, "aten::split.sizes", split_with_sizes},
    {ImplKind::kNative, "aten::split_with_sizes", split_with_sizes},
    {ImplKind::kNative, "aten::squeeze", view<squeeze>},
    {ImplKind::kNative, "aten::squeeze.dim", view<squeeze_dim>},
    {ImplKind::kNative, "aten::squeeze.dims", view<squeeze_dims>},
    {ImplKind::kNative, "aten::swapaxes", view<transpose>},
    {ImplKind::kNative, "aten::swapdims", view<transpose>},
    {ImplKind::kNative, "aten::t", view<t>},
    {ImplKind::kNative, "aten::transpose.int", view<transpose>},
    {ImplKind::kNative, "aten::unbind.int", unbind},
    {ImplKind::kNative, "aten::unsqueeze", view<unsqueeze>},
    {ImplKind::kNative, "aten::view", view<view_sizes>},
    {ImplKind::kNative, "aten::view_as", view<view_as>},
};

}  // namespace
}  // namespace stator
