// Operators that only put elements elsewhere, some of them several times: copies between views.
#include <algorithm>
#include <cmath>

#include "plan/binding.h"
#include "plan/collapse.h"

namespace stator {
namespace {

// A result in the making: the operator's own, as binders say it looks.
std::optional<TensorView> result_like_observed(Binding& binding) {
  const TensorMeta* seen = binding.observed(0);
  if (!seen || !tile_type(seen->dtype) || seen->numel() == 0) return std::nullopt;
  return binding.result(0, seen->dtype, seen->sizes, seen->strides);
}

// The elements of a view, dimension by dimension.
class Walk {
 public:
  explicit Walk(TensorView view) : view_(std::move(view)) {
    view_.meta.sizes.clear();
    view_.meta.strides.clear();
  }
  Walk& dim(int64_t size, int64_t stride) {
    view_.meta.sizes.push_back(size);
    view_.meta.strides.push_back(stride);
    return *this;
  }
  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
};

bool copy(Binding& binding, const TensorView& from, const TensorView& to) {
  if (from.meta.sizes != to.meta.sizes || from.meta.dtype != to.meta.dtype) return false;
  TileExpression expression(to.meta.sizes);
  expression.store(expression.load(from), to);
  binding.run(std::move(expression));
  return true;
}

TensorView part(TensorView view, int64_t dim, int64_t begin, int64_t size) {
  view.offset += begin * view.meta.strides[dim] * view.meta.itemsize();
  view.meta.sizes[dim] = size;
  return view;
}

// (self, repeats): each dimension of the result is a number of repeats around one of self's; new ones come first.
bool bind_repeat(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* repeats = binding.known(1);
  if (!self || !repeats || !repeats->isIntList()) return false;
  const auto result = result_like_observed(binding);
  const auto counts = repeats->toIntVector();
  if (!result || counts.size() != result->meta.sizes.size()) return false;
  Walk from(*self), to(*result);
  const size_t fresh = counts.size() - self->meta.sizes.size();
  for (size_t d = 0; d < counts.size(); ++d) {
    const int64_t size = d < fresh ? 1 : self->meta.sizes[d - fresh], stride = result->meta.strides[d];
    from.dim(counts[d], 0).dim(size, d < fresh ? 0 : self->meta.strides[d - fresh]);
    to.dim(counts[d], size * stride).dim(size, stride);
  }
  return copy(binding, from.view(), to.view());
}

// Along the dimensions from `first` on, each element becomes `times` neighbours.
bool spread(Binding& binding, const TensorView& self, int64_t first, int64_t times) {
  const auto result = result_like_observed(binding);
  if (!result || result->meta.dim() != self.meta.dim()) return false;
  Walk from(self), to(*result);
  for (int64_t d = 0; d < self.meta.dim(); ++d) {
    const int64_t size = self.meta.sizes[d], each = d < first ? 1 : times;
    if (result->meta.sizes[d] != size * each) return false;
    from.dim(size, self.meta.strides[d]).dim(each, 0);
    to.dim(size, result->meta.strides[d] * each).dim(each, result->meta.strides[d]);
  }
  return copy(binding, from.view(), to.view());
}

// (input, output size, factors...). Powers of two only: LibTorch's rounding of others is not for us to repeat.
bool bind_nearest(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const TensorMeta* seen = binding.observed(0);
  if (!self || !seen || seen->dim() != self->meta.dim() || seen->numel() == 0 || !binding.known(1) || !binding.known(2))
    return false;
  const int64_t times = seen->sizes.back() / self->meta.sizes.back();
  const bool power_of_two = times > 0 && (times & (times - 1)) == 0;
  return power_of_two && spread(binding, *self, 2, times);
}

// (self, factor): [..., channels * factor^2, height, width] to [..., channels, height * factor, width * factor].
bool bind_pixel_shuffle(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* factor = binding.known(1);
  if (!self || !factor || !factor->isInt() || self->meta.dim() < 3) return false;
  const auto result = result_like_observed(binding);
  if (!result) return false;
  const int64_t r = factor->toInt(), channel = self->meta.dim() - 3;
  const auto &in = self->meta, &out = result->meta;
  Walk from(*self), to(*result);
  for (int64_t d = 0; d < channel; ++d) {
    from.dim(in.sizes[d], in.strides[d]);
    to.dim(out.sizes[d], out.strides[d]);
  }
  from.dim(out.sizes[channel], in.strides[channel] * r * r);
  to.dim(out.sizes[channel], out.strides[channel]);
  for (int64_t i : {1, 2}) {
    const int64_t d = channel + i;
    from.dim(in.sizes[d], in.strides[d]).dim(r, in.strides[channel] * (i == 1 ? r : 1));
    to.dim(in.sizes[d], out.strides[d] * r).dim(r, out.strides[d]);
  }
  return copy(binding, from.view(), to.view());
}

// Parts of `self` change places along the dimensions from dims[i] on.
bool roll(Binding& binding, const TensorView& from, const TensorView& to, const std::vector<int64_t>& shifts,
          const std::vector<int64_t>& dims, size_t i) {
  if (i == dims.size()) return copy(binding, from, to);
  const int64_t size = from.meta.sizes[dims[i]], shift = ((shifts[i] % size) + size) % size;
  const auto move = [&](int64_t begin, int64_t target, int64_t count) {
    return count == 0 ||
           roll(binding, part(from, dims[i], begin, count), part(to, dims[i], target, count), shifts, dims, i + 1);
  };
  return move(0, shift, size - shift) && move(size - shift, 0, shift);
}

// (self, shifts, dims), each dimension once.
bool bind_roll(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue *shifts = binding.known(1), *dims = binding.known(2);
  if (!self || !shifts || !dims || !shifts->isIntList() || !dims->isIntList()) return false;
  auto along = dims->toIntVector();
  const auto by = shifts->toIntVector();
  if (along.empty() || along.size() != by.size() || along.size() > 2) return false;
  for (int64_t& dim : along) {
    const c10::IValue value(dim);
    const auto wrapped = wrapped_dim(&value, self->meta.dim());
    if (!wrapped) return false;
    dim = *wrapped;
  }
  if (along.size() == 2 && along[0] == along[1]) return false;
  const auto result = result_like_observed(binding);
  return result && result->meta.sizes == self->meta.sizes && roll(binding, *self, *result, by, along, 0);
}

// The border is filled beside what is copied, never under it: a kernel may be made to write there itself.
bool pad(Binding& binding, const TensorView& self, const std::vector<int64_t>& widths, double value) {
  auto inside = result_like_observed(binding);
  if (!inside || widths.size() % 2 != 0 || widths.size() / 2 > self.meta.sizes.size()) return false;
  if (std::any_of(widths.begin(), widths.end(), [](int64_t width) { return width < 0; })) return false;
  const auto fill = [&](const TensorView& border) {
    if (border.meta.numel() == 0) return;
    const TileType type = *tile_type(border.meta.dtype);
    TileExpression expression(border.meta.sizes);
    const auto number =
        type == TileType::kInt ? expression.number(static_cast<int64_t>(value), type) : expression.number(value, type);
    expression.store(expression.rounded(number, border.meta.dtype), border);
    binding.run(std::move(expression));
  };
  for (size_t i = 0; i < widths.size() / 2; ++i) {
    const int64_t dim = self.meta.dim() - 1 - static_cast<int64_t>(i), size = self.meta.sizes[dim];
    const int64_t before = widths[2 * i], after = widths[2 * i + 1];
    if (inside->meta.sizes[dim] != before + size + after) return false;
    fill(part(*inside, dim, 0, before));
    fill(part(*inside, dim, before + size, after));
    inside = part(*inside, dim, before, size);
  }
  return copy(binding, self, *inside);
}

std::optional<double> number_of(const c10::IValue* value) {
  if (!value) return std::nullopt;
  if (value->isNone()) return 0.0;
  if (!value->isScalar() || value->isComplexDouble()) return std::nullopt;
  return value->toScalar().toDouble();
}

// (self, widths, value), and with a mode before the value.
template <size_t kValue>
bool bind_pad(Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* widths = binding.known(1);
  const auto value = number_of(binding.known(kValue));
  if (!self || self->meta.dtype == at::kBool || self->meta.numel() == 0 || !widths || !widths->isIntList())
    return false;
  constexpr double kExactInDouble = 1LL << 53;
  if (!value || (!c10::isFloatingType(self->meta.dtype) && std::abs(*value) > kExactInDouble)) return false;
  const bool constant = kValue == 2 || (binding.known(2) && binding.known(2)->toStringRef() == "constant");
  return constant && pad(binding, *self, widths->toIntVector(), *value);
}

const BinderRegistration kRepeat("aten::repeat", bind_repeat);
const BinderRegistration kNearest1d("aten::upsample_nearest1d", bind_nearest);
const BinderRegistration kNearest1dByFactors("aten::upsample_nearest1d.vec", bind_nearest);
const BinderRegistration kNearest2d("aten::upsample_nearest2d", bind_nearest);
const BinderRegistration kNearest2dByFactors("aten::upsample_nearest2d.vec", bind_nearest);
const BinderRegistration kPixelShuffle("aten::pixel_shuffle", bind_pixel_shuffle);
const BinderRegistration kRoll("aten::roll", bind_roll);
const BinderRegistration kPad("aten::pad", bind_pad<3>);
const BinderRegistration kConstantPad("aten::constant_pad_nd", bind_pad<2>);

}  // namespace
}  // namespace stator
