// Runs a structured kernel of ATen into planned memory.
//
// Structured kernels come in two halves: meta() computes dtype, shape and strides of the results from the arguments, impl() fills them.
// The functional operator allocates in between; here Call::output() does, so results have exactly the operator's properties.
// This is what torchgen's RegisterCPU.cpp does for each operator, as one template.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <c10/util/strides.h>

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ops/arguments.h"
#include "ops/fallback.h"

namespace stator {

at::DimVector strides_for(at::IntArrayRef sizes, at::MemoryFormat format);

template <class S>
class Planned final : public S {
 public:
  explicit Planned(const Call& call) : call_(call) {}
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  ~Planned() override {
    for (at::Tensor& output : outputs_) Borrow::destroyBorrow(output);
  }

  void set_output_strided(int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options) override {
    place(i, sizes, strides, options);
  }
  void set_output_raw_strided(int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options) override {
    place(i, sizes, strides, options);
  }
  // The reference stays the same when the result is made: some metas take it before.
  const at::Tensor& maybe_get_output(int64_t i) override { return outputs_[i]; }

 private:
  using Borrow = c10::MaybeOwnedTraits<at::Tensor>;

  void place(int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
    const at::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
    const at::MemoryFormat format = options.memory_format_opt().value_or(at::MemoryFormat::Contiguous);
    const bool channels_last = strides.empty() && format != at::MemoryFormat::Contiguous;
    const at::Tensor& made = channels_last ? call_.output(static_cast<int>(i), sizes, strides_for(sizes, format), dtype)
                                           : call_.output(static_cast<int>(i), sizes, strides, dtype);
    Borrow::assignBorrow(outputs_[i], made);
    // The iterator takes the result from maybe_get_output().
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, S>) S::set_output_raw_strided(i, sizes, strides, options);
  }

  const Call& call_;
  std::array<at::Tensor, 2> outputs_;  // not counted: the slots own them
};

template <class F>
struct Signature;
template <class R, class C, class... A>
struct Signature<R (C::*)(A...)> {
  using Arguments = std::tuple<A...>;
  static constexpr size_t count = sizeof...(A);
};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Arguments = std::tuple<A...>;
  static constexpr size_t count = sizeof...(A);
};

// Arguments already converted.
template <class S, class... A>
void run_structured(const Call& call, const A&... arguments) {
  Planned<S> op(call);
  op.meta(arguments...);
  if constexpr (Signature<decltype(&S::impl)>::count == sizeof...(A) + 1) {
    op.impl(arguments..., op.maybe_get_output(0));
  } else {
    op.impl(arguments..., op.maybe_get_output(0), op.maybe_get_output(1));
  }
}

constexpr size_t kNoNumber = static_cast<size_t>(-1);

// How argument I of type T is taken; argument `Number` of the kernel is a tensor where the operator has a Scalar.
template <class T, size_t I, size_t Number>
using TakenAs = std::conditional_t<I == Number, WrappedNumber, Argument<T>>;

// Calls f with the call's arguments as the types in Arguments say, or leaves the call to LibTorch if a tensor among them is not plain.
template <class Arguments, size_t Number, class F, size_t... I>
void with_arguments(const Call& call, F&& f, std::index_sequence<I...>) {
  const std::tuple<TakenAs<std::tuple_element_t<I, Arguments>, I, Number>...> taken(call.in(I)...);
  if (!(std::get<I>(taken).plain() && ...)) return run_boxed(call);
  f(std::get<I>(taken).get()...);
}

// An out variant whose schema has the structured kernel's arguments, in order.
template <class S, size_t Number = kNoNumber>
void structured(const Call& call) {
  using Meta = Signature<decltype(&S::meta)>;
  with_arguments<typename Meta::Arguments, Number>(
      call, [&](const auto&... arguments) { run_structured<S>(call, arguments...); },
      std::make_index_sequence<Meta::count>());
}

// An in-place operator by at::cpu::name_(): changes argument 0 and returns it.
template <auto F, size_t Number = kNoNumber>
void in_place(const Call& call) {
  using Function = Signature<decltype(F)>;
  with_arguments<typename Function::Arguments, Number>(
      call,
      [&](auto&&... arguments) {
        F(arguments...);
        call.out() = call.in(0);
      },
      std::make_index_sequence<Function::count>());
}

}  // namespace stator
