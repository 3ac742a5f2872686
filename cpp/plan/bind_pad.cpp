// Padding: what is around a tensor is filled, or copied from it.
#include <algorithm>
#include <cmath>
#include <string>

#include "plan/rearrange.h"

namespace stator {
namespace {

// The border is filled beside what is copied, never under it: a kernel may be made to write there itself.
bool fill_around(Binding& binding, const TensorView& self, const std::vector<int64_t>& widths, double value) {
  auto inside = result_like_observed(binding);
  if (!inside) return false;
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

using Widths = std::vector<int64_t>;

// Argument 1: before and behind the last dimension, then of the one before it, and so on. nullopt: not known, or the tensor has not so many.
std::optional<Widths> widths_of(const Binding& binding) {
  const TensorView* self = binding.tensor(0);
  const c10::IValue* known = binding.known(1);
  if (!self || self->meta.numel() == 0 || !known || !known->isIntList()) return std::nullopt;
  Widths widths = known->toIntVector();
  const bool negative = std::any_of(widths.begin(), widths.end(), [](int64_t width) { return width < 0; });
  if (negative || widths.size() % 2 != 0 || widths.size() / 2 > self->meta.sizes.size()) return std::nullopt;
  return widths;
}

// (self, widths, value), and with a mode before the value.
template <size_t kValue>
bool bind_constant(Binding& binding) {
  const auto widths = widths_of(binding);
  const auto value = number_of(binding.known(kValue));
  if (!widths || !value) return false;
  const TensorView& self = *binding.tensor(0);
  constexpr double kExactInDouble = 1LL << 53;
  if (self.meta.dtype == at::kBool) return false;
  if (!c10::isFloatingType(self.meta.dtype) && std::abs(*value) > kExactInDouble) return false;
  return fill_around(binding, self, *widths, *value);
}

// What elements beyond the border are: those before it in turn, the last one, those at the other end.
enum class Border { kReflect, kReplicate, kCircular };

TensorView before(const TensorView& self, int64_t dim, int64_t width, Border border) {
  if (border == Border::kReflect) return turned(part(self, dim, 1, width), dim);
  if (border == Border::kCircular) return part(self, dim, self.meta.sizes[dim] - width, width);
  TensorView first = part(self, dim, 0, width);
  first.meta.strides[dim] = 0;
  return first;
}

TensorView behind(const TensorView& self, int64_t dim, int64_t width, Border border) {
  const int64_t size = self.meta.sizes[dim];
  if (border == Border::kReflect) return turned(part(self, dim, size - 1 - width, width), dim);
  if (border == Border::kCircular) return part(self, dim, 0, width);
  TensorView last = part(self, dim, size - 1, width);
  last.meta.strides[dim] = 0;
  return last;
}

// Along the last dimension but `i`, and those before it: nine copies of an image.
bool continue_around(Binding& binding, const TensorView& from, const TensorView& to, const Widths& widths, size_t i,
                     Border border) {
  if (i == widths.size() / 2) return copy(binding, from, to);
  const int64_t dim = from.meta.dim() - 1 - static_cast<int64_t>(i), size = from.meta.sizes[dim];
  const int64_t first = widths[2 * i], last = widths[2 * i + 1];
  const int64_t most = border == Border::kReflect ? size - 1 : size;
  const bool fits = border == Border::kReplicate || (first <= most && last <= most);
  if (!fits || to.meta.sizes[dim] != first + size + last) return false;
  const auto put = [&](const TensorView& some, int64_t begin, int64_t width) {
    return width == 0 || continue_around(binding, some, part(to, dim, begin, width), widths, i + 1, border);
  };
  return put(before(from, dim, first, border), 0, first) && put(from, first, size) &&
         put(behind(from, dim, last, border), first + size, last);
}

bool bind_continued(Binding& binding, Border border) {
  constexpr size_t kMostDims = 2;  // more are many copies
  const auto widths = widths_of(binding);
  if (!widths || widths->size() / 2 > kMostDims) return false;
  const auto result = result_like_observed(binding);
  return result && result->meta.dim() == binding.tensor(0)->meta.dim() &&
         continue_around(binding, *binding.tensor(0), *result, *widths, 0, border);
}

bool bind_reflected(Binding& binding) { return bind_continued(binding, Border::kReflect); }
bool bind_replicated(Binding& binding) { return bind_continued(binding, Border::kReplicate); }

// (self, widths, mode, value)
bool bind_pad(Binding& binding) {
  const c10::IValue* known = binding.known(2);
  if (!known) return false;
  const std::string& mode = known->toStringRef();
  if (mode == "constant") return bind_constant<3>(binding);
  if (mode == "reflect") return bind_reflected(binding);
  return mode == "replicate" ? bind_replicated(binding) : bind_continued(binding, Border::kCircular);
}

const BinderRegistration kPad("aten::pad", bind_pad);
const BinderRegistration kConstantPad("aten::constant_pad_nd", bind_constant<2>);
const BinderRegistration kReflection1d("aten::reflection_pad1d", bind_reflected);
const BinderRegistration kReflection2d("aten::reflection_pad2d", bind_reflected);
const BinderRegistration kReplication1d("aten::replication_pad1d", bind_replicated);
const BinderRegistration kReplication2d("aten::replication_pad2d", bind_replicated);

}  // namespace
}  // namespace stator
