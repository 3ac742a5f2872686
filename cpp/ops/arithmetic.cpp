// Python's arithmetic on numbers beyond the basic operators (scalars.cpp): rounding, powers, elementary functions, bits.
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "ops/fallback.h"
#include "ops/numbers.h"
#include "ops/registry.h"
#include "ops/tensors.h"

namespace stator {
namespace {

// The result of rounding a float is an int; one that does not fit is TorchScript's to convert.
template <Float (*F)(Float)>
void rounded(const Call& call) {
  const Float value = F(call.in(0).toDouble());
  if (!(std::abs(value) < 9.0e18)) return run_boxed(call);
  call.out() = static_cast<Int>(value);
}

constexpr auto kSqrt = [](auto a) -> Float { return std::sqrt(static_cast<Float>(a)); };
constexpr auto kExp = [](auto a) -> Float { return std::exp(static_cast<Float>(a)); };
constexpr auto kSin = [](auto a) -> Float { return std::sin(static_cast<Float>(a)); };
constexpr auto kCos = [](auto a) -> Float { return std::cos(static_cast<Float>(a)); };
constexpr auto kTanh = [](auto a) -> Float { return std::tanh(static_cast<Float>(a)); };
constexpr auto kLog = [](auto a) -> Float { return std::log(static_cast<Float>(a)); };
constexpr auto kPow = [](auto a, auto b) -> Float { return std::pow(static_cast<Float>(a), static_cast<Float>(b)); };
constexpr auto kSame = [](auto a) { return a; };

// Numbers whose type is known only when they come: a real one counts as a float where one of two is.
template <class F>
bool with_reals(const Call& call, F&& f) {
  const c10::IValue &a = call.in(0), &b = call.in(1);
  if (a.isInt() && b.isInt()) f(a.toInt(), b.toInt());
  else if (a.isInt() && b.isDouble()) f(static_cast<Float>(a.toInt()), b.toDouble());
  else if (a.isDouble() && b.isInt()) f(a.toDouble(), static_cast<Float>(b.toInt()));
  else if (a.isDouble() && b.isDouble()) f(a.toDouble(), b.toDouble());
  else return false;
  return true;
}

template <auto F>
void compared(const Call& call) {
  if (!with_reals(call, [&](auto a, auto b) { call.out() = F(a, b); })) run_boxed(call);
}

// Integers wrap around, as they do in LibTorch's build, but here without undefined behaviour.
template <class Whole, class Real>
void combine(const Call& call, Whole whole, Real real) {
  const bool done = with_reals(call, [&](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), Int>) {
      call.out() = static_cast<Int>(whole(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    } else {
      call.out() = real(a, b);
    }
  });
  if (!done) run_boxed(call);
}

void add(const Call& call) { combine(call, std::plus<uint64_t>(), std::plus<Float>()); }
void sub(const Call& call) { combine(call, std::minus<uint64_t>(), std::minus<Float>()); }
void mul(const Call& call) { combine(call, std::multiplies<uint64_t>(), std::multiplies<Float>()); }

void divide(const Call& call) {
  const bool done =
      with_reals(call, [&](auto a, auto b) { call.out() = static_cast<Float>(a) / static_cast<Float>(b); });
  if (!done) run_boxed(call);
}

const Registration kArithmetic[] = {
    {ImplKind::kNative, "aten::floor.float", rounded<std::floor>},
    {ImplKind::kNative, "aten::ceil.float", rounded<std::ceil>},
    {ImplKind::kNative, "aten::floor.int", of_one<Int, kSame>},
    {ImplKind::kNative, "aten::ceil.int", of_one<Int, kSame>},
    {ImplKind::kNative, "aten::sqrt.int", of_one<Int, kSqrt>},
    {ImplKind::kNative, "aten::sqrt.float", of_one<Float, kSqrt>},
    {ImplKind::kNative, "aten::exp.int", of_one<Int, kExp>},
    {ImplKind::kNative, "aten::exp.float", of_one<Float, kExp>},
    {ImplKind::kNative, "aten::log.int", of_one<Int, kLog>},
    {ImplKind::kNative, "aten::log.float", of_one<Float, kLog>},
    {ImplKind::kNative, "aten::sin.float", of_one<Float, kSin>},
    {ImplKind::kNative, "aten::cos.float", of_one<Float, kCos>},
    {ImplKind::kNative, "aten::tanh.float", of_one<Float, kTanh>},
    {ImplKind::kNative, "aten::pow.int", of_two<Int, Int, kPow>},
    {ImplKind::kNative, "aten::pow.float", of_two<Float, Float, kPow>},
    {ImplKind::kNative, "aten::pow.int_float", of_two<Int, Float, kPow>},
    {ImplKind::kNative, "aten::pow.float_int", of_two<Float, Int, kPow>},
    {ImplKind::kNative, "aten::isnan.float", of_one<Float, [](Float a) { return std::isnan(a); }>},
    {ImplKind::kNative, "aten::isinf.float", of_one<Float, [](Float a) { return std::isinf(a); }>},
    {ImplKind::kNative, "aten::isfinite.float", of_one<Float, [](Float a) { return std::isfinite(a); }>},
    {ImplKind::kNative, "prim::abs.float", of_one<Float, [](Float a) { return std::abs(a); }>},
    {ImplKind::kNative, "prim::min.int_float", of_two<Int, Float, kLesser>},
    {ImplKind::kNative, "prim::min.float_int", of_two<Float, Int, kLesser>},
    {ImplKind::kNative, "prim::max.int_float", of_two<Int, Float, kGreater>},
    {ImplKind::kNative, "prim::max.float_int", of_two<Float, Int, kGreater>},
    {ImplKind::kNative, "aten::__and__.int", of_two<Int, Int, [](Int a, Int b) { return a & b; }>},
    {ImplKind::kNative, "aten::__or__.int", of_two<Int, Int, [](Int a, Int b) { return a | b; }>},
    {ImplKind::kNative, "aten::__xor__.int", of_two<Int, Int, [](Int a, Int b) { return a ^ b; }>},
    {ImplKind::kNative, "aten::__xor__.bool", of_two<bool, bool, [](bool a, bool b) { return a != b; }>},
    {ImplKind::kNative, "aten::add", add},
    {ImplKind::kNative, "aten::sub", sub},
    {ImplKind::kNative, "aten::mul", mul},
    {ImplKind::kNative, "aten::div", divide},
    {ImplKind::kNative, "aten::eq", compared<std::equal_to<>{}>},
    {ImplKind::kNative, "aten::ne", compared<std::not_equal_to<>{}>},
    {ImplKind::kNative, "aten::lt", compared<std::less<>{}>},
    {ImplKind::kNative, "aten::le", compared<std::less_equal<>{}>},
    {ImplKind::kNative, "aten::gt", compared<std::greater<>{}>},
    {ImplKind::kNative, "aten::ge", compared<std::greater_equal<>{}>},
};

}  // namespace
}  // namespace stator
