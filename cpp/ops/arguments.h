// Arguments of a call as the C++ types that ATen's functions take. An Argument is made for one call and keeps what the type only refers to.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>
#include <string_view>

#include "ops/tensors.h"

namespace stator {

template <class T>
struct Argument {
  explicit Argument(const c10::IValue& value) : value(value.to<std::decay_t<T>>()) {}
  const std::decay_t<T>& get() const { return value; }
  bool plain() const { return true; }
  std::decay_t<T> value;
};

template <>
struct Argument<const at::Tensor&> {
  explicit Argument(const c10::IValue& value) : value(value.toTensor()) {}
  const at::Tensor& get() const { return value; }
  bool plain() const { return is_plain(value); }
  const at::Tensor& value;
};

template <>
struct Argument<at::Tensor&> {
  explicit Argument(const c10::IValue& value) : value(value.toTensor()) {}
  at::Tensor& get() const { return const_cast<at::Tensor&>(value); }
  bool plain() const { return is_plain(value); }
  const at::Tensor& value;
};

template <>
struct Argument<at::OptionalTensorRef> {
  explicit Argument(const c10::IValue& value) : value(value.isNone() ? nullptr : &value.toTensor()) {}
  at::OptionalTensorRef get() const { return value ? at::OptionalTensorRef(*value) : at::OptionalTensorRef(); }
  bool plain() const { return !value || is_plain(*value); }
  const at::Tensor* value;
};

template <>
struct Argument<const at::Scalar&> {
  explicit Argument(const c10::IValue& value) : value(value.toScalar()) {}
  const at::Scalar& get() const { return value; }
  bool plain() const { return true; }
  at::Scalar value;
};

template <>
struct Argument<const std::optional<at::Scalar>&> {
  explicit Argument(const c10::IValue& value) : value(value.toOptional<at::Scalar>()) {}
  const std::optional<at::Scalar>& get() const { return value; }
  bool plain() const { return true; }
  std::optional<at::Scalar> value;
};

template <>
struct Argument<at::OptionalScalarRef> {
  explicit Argument(const c10::IValue& value) : value(value.toOptional<at::Scalar>()) {}
  at::OptionalScalarRef get() const { return value ? at::OptionalScalarRef(*value) : at::OptionalScalarRef(); }
  bool plain() const { return true; }
  std::optional<at::Scalar> value;
};

template <>
struct Argument<at::IntArrayRef> {
  explicit Argument(const c10::IValue& value) : value(value.toDimVector()) {}
  at::IntArrayRef get() const { return value; }
  bool plain() const { return true; }
  at::DimVector value;
};

template <>
struct Argument<at::OptionalIntArrayRef> {
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) this->value = value.toDimVector();
  }
  at::OptionalIntArrayRef get() const { return value ? at::OptionalIntArrayRef(*value) : at::OptionalIntArrayRef(); }
  bool plain() const { return true; }
  std::optional<at::DimVector> value;
};

template <>
struct Argument<std::string_view> {
  explicit Argument(const c10::IValue& value) : value(value.toStringView()) {}
  std::string_view get() const { return value; }
  bool plain() const { return true; }
  std::string_view value;
};

template <>
struct Argument<std::optional<std::string_view>> {
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) this->value = value.toStringView();
  }
  std::optional<std::string_view> get() const { return value; }
  bool plain() const { return true; }
  std::optional<std::string_view> value;
};

// A Scalar where the kernel takes a tensor: a 0-dimensional one that counts as a number in type promotion.
struct WrappedNumber {
  explicit WrappedNumber(const c10::IValue& value);
  const at::Tensor& get() const { return value; }
  bool plain() const { return true; }
  at::Tensor value;
};

}  // namespace stator
