// Pointwise: one operator on its way to a tile expression, for the binders of pointwise operators.
#pragma once

#include <c10/core/ScalarType.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "plan/binding.h"

namespace stator {

// What the arguments `first` .. `last` are compared or computed in, as LibTorch promotes tensors and numbers. nullopt: one is neither.
std::optional<at::ScalarType> common_dtype(const Binding& binding, size_t first, size_t last);

// Loads what it is asked for as elements of one dtype, and stores the result as it was observed.
class Pointwise {
 public:
  using Node = TileExpression::Node;

  explicit Pointwise(Binding& binding) : binding_(binding) {}

  // Whether the arguments `first` .. `last` are tensors or numbers that can be computed with. `compute`: the dtype to compute in; the
  // result's unless said, or wider where an operator in place is given more than it can keep.
  bool begin(size_t first, size_t last, std::optional<at::ScalarType> compute = std::nullopt);

  // The same for results that are floating point.
  bool begin_real(size_t first, size_t last) { return begin(first, last) && is_real(); }

  bool is_real() const { return c10::isFloatingType(compute_); }
  at::ScalarType compute() const { return compute_; }
  TileType type() const { return *tile_type(compute_); }
  TileExpression& expression() { return *expression_; }

  // Argument i as an element of `dtype`.
  Node as(size_t i, at::ScalarType dtype) {
    if (const TensorView* view = binding_.tensor(i)) {
      if (const auto number = constant_number(*view, dtype)) return expression_->number(*number, *tile_type(dtype));
      return expression_->cast(expression_->load(*view), view->meta.dtype, dtype);
    }
    const c10::IValue& value = *binding_.known(i);
    const TileType type = *tile_type(dtype);
    if (dtype == at::kBool) return expression_->number(real(value) != 0 ? 1.0 : 0.0, type);
    if (type == TileType::kInt) return expression_->number(integer(value), type);
    return expression_->number(real(value), type);
  }
  Node in(size_t i) { return as(i, compute_); }
  Node in(const TensorView& view) { return expression_->cast(expression_->load(view), view.meta.dtype, compute_); }
  Node number(double value) {
    return type() == TileType::kInt ? expression_->number(static_cast<int64_t>(value), type())
                                    : expression_->number(value, type());
  }
  Node op(TileOpcode code, Node a) { return expression_->op(code, a); }
  Node op(TileOpcode code, Node a, Node b) { return expression_->op(code, a, b); }
  Node op(TileOpcode code, Node a, Node b, Node c) { return expression_->op(code, a, b, c); }

  // `made` holds elements of `dtype`, not yet rounded to it.
  bool store(Node made, at::ScalarType dtype) {
    const TensorMeta& seen = *binding_.observed(0);
    // Elements of the result must not overlap, nor lie with gaps that nothing fills.
    const TensorView to = binding_.result(0, seen.dtype, seen.sizes, seen.strides);
    if (dtype != at::kBool) made = expression_->rounded(made, dtype);
    made = expression_->cast(made, dtype, seen.dtype);
    expression_->store(made, to);
    if (const auto elsewhere = binding_.result_elsewhere(0)) expression_->store(made, *elsewhere);
    binding_.run(std::move(*expression_));
    return true;
  }
  bool store(Node made) { return store(made, compute_); }

  bool is_number(size_t i) const {
    const c10::IValue* value = binding_.known(i);
    return value && (value->isInt() || value->isDouble() || value->isBool());
  }
  std::optional<double> number_of(size_t i) const {
    return is_number(i) ? std::optional(real(*binding_.known(i))) : std::nullopt;
  }
  std::optional<int64_t> integer_of(size_t i) const {
    return is_number(i) ? std::optional(integer(*binding_.known(i))) : std::nullopt;
  }
  static double real(const c10::IValue& value) {
    if (value.isDouble()) return value.toDouble();
    return value.isInt() ? static_cast<double>(value.toInt()) : static_cast<double>(value.toBool());
  }

 private:
  static int64_t integer(const c10::IValue& value) {
    if (value.isDouble()) return static_cast<int64_t>(value.toDouble());
    return value.isInt() ? value.toInt() : static_cast<int64_t>(value.toBool());
  }

  // What a constant of one element is as one of `dtype`, if it is made that by one rounding: traces make such constants of Python's numbers, and
  // elements would be converted tile by tile.
  std::optional<double> constant_number(const TensorView& view, at::ScalarType dtype) const;

  Binding& binding_;
  at::ScalarType compute_ = at::kFloat;
  std::optional<TileExpression> expression_;
};

struct PointwiseEntry {
  const char* key;
  Binder binder;
};
struct PointwiseRegistration {
  PointwiseRegistration(std::initializer_list<PointwiseEntry> entries) {
    for (const PointwiseEntry& entry : entries) BinderRegistration(entry.key, entry.binder);
  }
};

}  // namespace stator
