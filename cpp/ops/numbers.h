// Operators on one or two numbers, and what both files of them name.
#pragma once

#include <ATen/core/ivalue_inl.h>

#include <cstdint>
#include <type_traits>

#include "ops/registry.h"

namespace stator {

using Int = int64_t;
using Float = double;

template <class T>
T number(const c10::IValue& value) {
  if constexpr (std::is_same_v<T, Int>) return value.toInt();
  else if constexpr (std::is_same_v<T, Float>) return value.toDouble();
  else return value.toBool();
}

template <class A, auto F>
void of_one(const Call& call) {
  call.out() = F(number<A>(call.in(0)));
}

template <class A, class B, auto F>
void of_two(const Call& call) {
  call.out() = F(number<A>(call.in(0)), number<B>(call.in(1)));
}

// With NaN on either side the second number.
constexpr auto kLesser = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b ? a : b; };

}  // namespace stator
