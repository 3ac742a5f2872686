// Numbers: arithmetic on them, and those that describe tensors or come out of them.
#include <ATen/ops/_local_scalar_dense_native.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "ops/fallback.h"
#include "ops/numbers.h"
#include "ops/registry.h"
#include "ops/tensors.h"
#include "ops/views.h"

namespace stator {
namespace {

// Integers wrap around, as they do in LibTorch's build, but here without undefined behaviour.
Int wrapped_add(Int a, Int b) { return static_cast<Int>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
Int wrapped_sub(Int a, Int b) { return static_cast<Int>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
Int wrapped_mul(Int a, Int b) { return static_cast<Int>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
Int wrapped_neg(Int a) { return wrapped_sub(0, a); }

Int floor_div(Int a, Int b) {
  TORCH_CHECK(b != 0, "division by 0");
  if (b == -1) return wrapped_neg(a);  // the smallest integer by -1 traps
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The interpreter divides and dies of SIGFPE at b == 0.
Int floor_mod(Int a, Int b) {
  TORCH_CHECK(b != 0, "integer modulo by zero");
  return b == -1 ? 0 : (b + a % b) % b;
}

constexpr auto kAdd = [](auto a, auto b) -> double { return static_cast<double>(a) + static_cast<double>(b); };
constexpr auto kSub = [](auto a, auto b) -> double { return static_cast<double>(a) - static_cast<double>(b); };
constexpr auto kMul = [](auto a, auto b) -> double { return static_cast<double>(a) * static_cast<double>(b); };
constexpr auto kDiv = [](auto a, auto b) -> double { return static_cast<double>(a) / static_cast<double>(b); };
constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
constexpr auto kToBool = [](auto a) { return static_cast<bool>(a); };
constexpr auto kToInt = [](auto a) { return static_cast<Int>(a); };
constexpr auto kToFloat = [](auto a) { return static_cast<Float>(a); };

template <bool kEqual>
void strings_equal(const Call& call) {
  call.out() = (call.in(0).toStringRef() == call.in(1).toStringRef()) == kEqual;
}

template <bool kSame>
void same(const Call& call) {
  call.out() = call.in(0).is(call.in(1)) == kSame;
}

// Other than ints and floats is LibTorch's to convert or refuse.
bool is_real(const c10::IValue& value) { return value.isInt() || value.isDouble(); }

void scalar_to_int(const Call& call) {
  if (!is_real(call.in(0))) return run_boxed(call);
  call.out() = call.in(0).toScalar().toLong();
}

void scalar_to_float(const Call& call) {
  if (!is_real(call.in(0))) return run_boxed(call);
  call.out() = call.in(0).toScalar().toDouble();
}

// Iterations of range(lo, hi, step).
void range_length(const Call& call) {
  const Int low = call.in(0).toInt(), high = call.in(1).toInt(), step = call.in(2).toInt();
  if (step > 0 && low < high) {
    call.out() = 1 + (high - 1 - low) / step;
  } else if (step < 0 && low > high) {
    call.out() = 1 + (low - 1 - high) / (0 - step);
  } else if (step == 0) {
    run_boxed(call);
  } else {
    call.out() = Int{0};
  }
}

void derive_index(const Call& call) {
  call.out() = wrapped_add(call.in(1).toInt(), wrapped_mul(call.in(0).toInt(), call.in(2).toInt()));
}

// Facts of a tensor that hold for any layout unless they look at sizes.

template <auto F>
void plain_fact(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  call.out() = F(call.tensor(0));
}

void sizes(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  call.out() = call.tensor(0).sizes();
}

template <bool kStride>
void size_of_dim(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  const at::Tensor& self = call.tensor(0);
  int64_t dim = call.in(1).toInt();
  if (dim < 0) dim += self.dim();
  if (dim < 0 || dim >= self.dim()) return run_boxed(call);
  call.out() = kStride ? self.strides()[dim] : self.sizes()[dim];
}

void tensor_length(const Call& call) {
  if (!is_plain(call.in(0)) || call.tensor(0).dim() == 0) return run_boxed(call);
  call.out() = call.tensor(0).sizes()[0];
}

void data(const Call& call) {
  if (!is_plain(call.in(0))) return run_boxed(call);
  call.out() = make_alias(call.tensor(0));
}

// The one element of a tensor. False for tensors of other sizes, whose error is LibTorch's.
bool element(const Call& call, at::Scalar& value) {
  if (!is_plain(call.in(0)) || call.tensor(0).numel() != 1) return false;
  value = at::native::_local_scalar_dense_cpu(call.tensor(0));
  return true;
}

void tensor_item(const Call& call) {
  at::Scalar value;
  if (!element(call, value)) return run_boxed(call);
  call.out() = value;
}

template <class T>
void item_as(const Call& call) {
  at::Scalar value;
  if (!element(call, value)) return run_boxed(call);
  call.out() = value.to<T>();
}

// What the compiler inserts where a tensor meets a parameter that is a number: only for tensors without dimensions.
template <class T>
void implicit(const Call& call) {
  at::Scalar value;
  if (!call.in(0).isTensor() || call.tensor(0).dim() != 0 || !element(call, value)) return run_boxed(call);
  if (std::is_same_v<T, Int> && !value.isIntegral(false)) return run_boxed(call);
  call.out() = value.to<T>();
}

void scalar_implicit(const Call& call) {
  if (!call.in(0).isTensor() || call.tensor(0).dim() != 0) return run_boxed(call);
  tensor_item(call);
}

const Registration kScalars[] = {
    {ImplKind::kNative, "aten::eq.int", of_two<Int, Int, kEq>},
    {ImplKind::kNative, "aten::eq.float", of_two<Float, Float, kEq>},
    {ImplKind::kNative, "aten::eq.int_float", of_two<Int, Float, kEq>},
    {ImplKind::kNative, "aten::eq.float_int", of_two<Float, Int, kEq>},
    {ImplKind::kNative, "aten::ne.int", of_two<Int, Int, kNe>},
    {ImplKind::kNative, "aten::ne.float", of_two<Float, Float, kNe>},
    {ImplKind::kNative, "aten::ne.int_float", of_two<Int, Float, kNe>},
    {ImplKind::kNative, "aten::ne.float_int", of_two<Float, Int, kNe>},
    {ImplKind::kNative, "aten::lt.int", of_two<Int, Int, kLt>},
    {ImplKind::kNative, "aten::lt.float", of_two<Float, Float, kLt>},
    {ImplKind::kNative, "aten::lt.int_float", of_two<Int, Float, kLt>},
    {ImplKind::kNative, "aten::lt.float_int", of_two<Float, Int, kLt>},
    {ImplKind::kNative, "aten::le.int", of_two<Int, Int, kLe>},
    {ImplKind::kNative, "aten::le.float", of_two<Float, Float, kLe>},
    {ImplKind::kNative, "aten::le.int_float", of_two<Int, Float, kLe>},
    {ImplKind::kNative, "aten::le.float_int", of_two<Float, Int, kLe>},
    {ImplKind::kNative, "aten::gt.int", of_two<Int, Int, kGt>},
    {ImplKind::kNative, "aten::gt.float", of_two<Float, Float, kGt>},
    {ImplKind::kNative, "aten::gt.int_float", of_two<Int, Float, kGt>},
    {ImplKind::kNative, "aten::gt.float_int", of_two<Float, Int, kGt>},
    {ImplKind::kNative, "aten::ge.int", of_two<Int, Int, kGe>},
    {ImplKind::kNative, "aten::ge.float", of_two<Float, Float, kGe>},
    {ImplKind::kNative, "aten::ge.int_float", of_two<Int, Float, kGe>},
    {ImplKind::kNative, "aten::ge.float_int", of_two<Float, Int, kGe>},
    {ImplKind::kNative, "aten::add.float", of_two<Float, Float, kAdd>},
    {ImplKind::kNative, "aten::add.int_float", of_two<Int, Float, kAdd>},
    {ImplKind::kNative, "aten::add.float_int", of_two<Float, Int, kAdd>},
    {ImplKind::kNative, "aten::sub.float", of_two<Float, Float, kSub>},
    {ImplKind::kNative, "aten::sub.int_float", of_two<Int, Float, kSub>},
    {ImplKind::kNative, "aten::sub.float_int", of_two<Float, Int, kSub>},
    {ImplKind::kNative, "aten::mul.float", of_two<Float, Float, kMul>},
    {ImplKind::kNative, "aten::mul.int_float", of_two<Int, Float, kMul>},
    {ImplKind::kNative, "aten::mul.float_int", of_two<Float, Int, kMul>},
    {ImplKind::kNative, "prim::min.int", of_two<Int, Int, kLesser>},
    {ImplKind::kNative, "prim::min.float", of_two<Float, Float, kLesser>},
    {ImplKind::kNative, "prim::max.int", of_two<Int, Int, kGreater>},
    {ImplKind::kNative, "prim::max.float", of_two<Float, Float, kGreater>},
    {ImplKind::kNative, "aten::add.int", of_two<Int, Int, wrapped_add>},
    {ImplKind::kNative, "aten::sub.int", of_two<Int, Int, wrapped_sub>},
    {ImplKind::kNative, "aten::mul.int", of_two<Int, Int, wrapped_mul>},
    {ImplKind::kNative, "aten::floordiv.int", of_two<Int, Int, floor_div>},
    {ImplKind::kNative, "aten::remainder.int", of_two<Int, Int, floor_mod>},
    {ImplKind::kNative, "aten::neg.int", of_one<Int, wrapped_neg>},
    {ImplKind::kNative, "aten::neg.float", of_one<Float, [](Float a) { return -a; }>},
    {ImplKind::kNative, "aten::div.int", of_two<Int, Int, kDiv>},
    {ImplKind::kNative, "aten::div.float", of_two<Float, Float, kDiv>},
    {ImplKind::kNative, "aten::eq.bool", of_two<bool, bool, kEq>},
    {ImplKind::kNative, "aten::ne.bool", of_two<bool, bool, kNe>},
    {ImplKind::kNative, "aten::eq.str", strings_equal<true>},
    {ImplKind::kNative, "aten::ne.str", strings_equal<false>},
    {ImplKind::kNative, "aten::__and__.bool", of_two<bool, bool, [](bool a, bool b) { return a && b; }>},
    {ImplKind::kNative, "aten::__or__.bool", of_two<bool, bool, [](bool a, bool b) { return a || b; }>},
    {ImplKind::kNative, "aten::__not__", of_one<bool, [](bool a) { return !a; }>},
    {ImplKind::kNative, "aten::__is__", same<true>},
    {ImplKind::kNative, "aten::__isnot__", same<false>},
    {ImplKind::kNative, "aten::__range_length", range_length},
    {ImplKind::kNative, "aten::__derive_index", derive_index},
    {ImplKind::kNative, "aten::Bool.int", of_one<Int, kToBool>},
    {ImplKind::kNative, "aten::Bool.float", of_one<Float, kToBool>},
    {ImplKind::kNative, "aten::Int.bool", of_one<bool, kToInt>},
    {ImplKind::kNative, "aten::Int.float", of_one<Float, kToInt>},
    {ImplKind::kNative, "aten::Int.Scalar", scalar_to_int},
    {ImplKind::kNative, "aten::Float.int", of_one<Int, kToFloat>},
    {ImplKind::kNative, "aten::Float.bool", of_one<bool, kToFloat>},
    {ImplKind::kNative, "aten::Float.Scalar", scalar_to_float},
    {ImplKind::kNative, "aten::Bool.Tensor", item_as<bool>},
    {ImplKind::kNative, "aten::Int.Tensor", item_as<Int>},
    {ImplKind::kNative, "aten::Float.Tensor", item_as<Float>},
    {ImplKind::kNative, "aten::item", tensor_item},
    {ImplKind::kNative, "aten::IntImplicit", implicit<Int>},
    {ImplKind::kNative, "aten::FloatImplicit", implicit<Float>},
    {ImplKind::kNative, "aten::ScalarImplicit", scalar_implicit},
    {ImplKind::kNative, "aten::size", sizes},
    {ImplKind::kNative, "aten::size.int", size_of_dim<false>},
    {ImplKind::kNative, "aten::stride.int", size_of_dim<true>},
    {ImplKind::kNative, "aten::len.Tensor", tensor_length},
    {ImplKind::kNative, "aten::dim", plain_fact<[](const at::Tensor& t) { return t.dim(); }>},
    {ImplKind::kNative, "aten::numel", plain_fact<[](const at::Tensor& t) { return t.numel(); }>},
    {ImplKind::kNative, "aten::is_contiguous", plain_fact<[](const at::Tensor& t) { return t.is_contiguous(); }>},
    {ImplKind::kNative, "aten::is_floating_point",
     plain_fact<[](const at::Tensor& t) { return t.is_floating_point(); }>},
    {ImplKind::kNative, "aten::is_complex", plain_fact<[](const at::Tensor& t) { return t.is_complex(); }>},
    {ImplKind::kNative, "aten::storage_offset", plain_fact<[](const at::Tensor& t) { return t.storage_offset(); }>},
    {ImplKind::kNative, "prim::data", data},
    {ImplKind::kNative, "prim::device", plain_fact<[](const at::Tensor& t) { return t.device(); }>},
    {ImplKind::kNative, "prim::dtype",
     plain_fact<[](const at::Tensor& t) { return static_cast<Int>(t.scalar_type()); }>},
    {ImplKind::kNative, "prim::layout", plain_fact<[](const at::Tensor& t) { return t.layout(); }>},
    {ImplKind::kNative, "prim::is_cuda", plain_fact<[](const at::Tensor&) { return false; }>},
};

}  // namespace
}  // namespace stator
