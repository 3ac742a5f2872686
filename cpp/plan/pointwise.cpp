#include "plan/pointwise.h"

#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

#include <cmath>

namespace stator {

std::optional<at::ScalarType> common_dtype(const Binding& binding, size_t first, size_t last) {
  at::native::ResultTypeState state{};
  for (size_t i = first; i <= last; ++i) {
    if (const TensorView* view = binding.tensor(i)) {
      state = at::native::update_result_type_state(
          at::empty(view->meta.sizes, at::TensorOptions(view->meta.dtype).device(at::kMeta)), state);
    } else if (const c10::IValue* value = binding.known(i); value && value->isScalar()) {
      state = at::native::update_result_type_state(value->toScalar(), state);
    } else {
      return std::nullopt;
    }
  }
  return at::native::result_type(state);
}

std::optional<double> Pointwise::constant_number(const TensorView& view, at::ScalarType dtype) const {
  const at::Tensor* constant = view.meta.numel() == 1 ? binding_.constant(view) : nullptr;
  if (!constant || constant->numel() != 1 || (dtype != at::kFloat && dtype != at::kDouble)) return std::nullopt;
  const at::ScalarType given = constant->scalar_type();
  if (given != at::kFloat && given != at::kDouble && given != at::kLong) return std::nullopt;
  const double number = constant->item().toDouble();
  constexpr double kExact = int64_t{1} << 53;
  return given != at::kLong || std::abs(number) < kExact ? std::optional(number) : std::nullopt;
}

bool Pointwise::begin(size_t first, size_t last, std::optional<at::ScalarType> compute) {
  const TensorMeta* seen = binding_.observed(0);
  if (!seen || !tile_type(seen->dtype)) return false;
  compute_ = compute.value_or(seen->dtype);
  bool differ = false;
  for (size_t i = first; i <= last; ++i) {
    if (const TensorView* view = binding_.tensor(i)) {
      if (!tile_type(view->meta.dtype)) return false;
      differ |= view->meta.dtype != seen->dtype;
    } else if (!is_number(i)) {
      return false;
    }
  }
  if (!compute && differ && last > first)
    compute_ = c10::promoteTypes(seen->dtype, *common_dtype(binding_, first, last));
  if (!tile_type(compute_)) return false;
  expression_.emplace(seen->sizes);
  return true;
}

}  // namespace stator
