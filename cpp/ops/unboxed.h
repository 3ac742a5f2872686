// LibTorch's operators called by their C++ functions: no stack, and the dispatcher's typed handle is looked up once. For operators that
// make their own memory, change an argument or return views.
#pragma once

#include <ATen/core/IListRef.h>
#include <c10/core/SymIntArrayRef.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/arguments.h"
#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator {

template <>
struct Argument<const std::optional<at::Tensor>&> {
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) this->value = value.toTensor();
  }
  const std::optional<at::Tensor>& get() const { return value; }
  std::optional<at::Tensor> value;
};

template <>
struct Argument<at::TensorList> {
  explicit Argument(const c10::IValue& value) {
    for (const c10::IValue& element : value.toListRef()) tensors.push_back(element.toTensor());
  }
  at::TensorList get() const { return tensors; }
  c10::SmallVector<at::Tensor, 8> tensors;
};

template <>
struct Argument<const at::ITensorListRef&> {
  explicit Argument(const c10::IValue& value) : list(value), ref(list.get()) {}
  const at::ITensorListRef& get() const { return ref; }
  Argument<at::TensorList> list;
  at::ITensorListRef ref;
};

template <>
struct Argument<c10::SymInt> {
  explicit Argument(const c10::IValue& value) : value(value.toInt()) {}
  const c10::SymInt& get() const { return value; }
  c10::SymInt value;
};

template <>
struct Argument<c10::SymIntArrayRef> {
  explicit Argument(const c10::IValue& value) : value(value.toDimVector()) {}
  c10::SymIntArrayRef get() const { return c10::fromIntArrayRefSlow(value); }
  at::DimVector value;
};

template <>
struct Argument<at::OptionalSymIntArrayRef> {
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) this->value = value.toDimVector();
  }
  at::OptionalSymIntArrayRef get() const {
    return value ? at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(*value)) : at::OptionalSymIntArrayRef();
  }
  std::optional<at::DimVector> value;
};

template <class T>
struct Argument<std::optional<c10::ArrayRef<T>>> {
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) this->value = value.to<std::vector<T>>();
  }
  std::optional<c10::ArrayRef<T>> get() const { return value ? std::optional<c10::ArrayRef<T>>(*value) : std::nullopt; }
  std::optional<std::vector<T>> value;
};

namespace unboxed {

template <class T>
struct Schema;
template <class R, class... A>
struct Schema<R(A...)> {
  using Result = R;
  using Arguments = std::tuple<Argument<A>...>;
  static constexpr size_t count = sizeof...(A);
};

// "(a" starts each alias annotation: of a result that is an argument or a view of one.
template <class Op>
constexpr bool kAnnotated = std::string_view(Op::schema_str).find("(a") != std::string_view::npos;

// Whether a result without an annotation is fresh. Analysis knows those operators for which that is not so (analysis/unsaid.h).
enum class Results : uint8_t { kFresh, kMayBeArguments };

template <class Op, Results kResults, class T>
void put(const Call& call, int i, T&& result) {
  call.out(i) = c10::IValue(std::forward<T>(result));
  if constexpr (!kAnnotated<Op> && kResults == Results::kFresh) unshare(call, call.out(i));
}

template <class Op, Results kResults, class... T>
void put_all(const Call& call, std::tuple<T...>&& results) {
  std::apply([&, i = 0](auto&... result) mutable { (put<Op, kResults>(call, i++, std::move(result)), ...); }, results);
}

template <class Op, Results kResults, size_t... I>
void run_with(const Call& call, std::index_sequence<I...>) {
  using Schema = Schema<typename Op::schema>;
  const typename Schema::Arguments arguments{std::tuple_element_t<I, typename Schema::Arguments>(call.in(I))...};
  if constexpr (std::is_void_v<typename Schema::Result>) {
    Op::call(std::get<I>(arguments).get()...);
  } else if constexpr (requires { std::tuple_size<typename Schema::Result>::value; }) {
    put_all<Op, kResults>(call, Op::call(std::get<I>(arguments).get()...));
  } else {
    put<Op, kResults>(call, 0, Op::call(std::get<I>(arguments).get()...));
  }
}

template <class Op, Results kResults>
void run(const Call& call) {
  run_with<Op, kResults>(call, std::make_index_sequence<Schema<typename Op::schema>::count>());
}

}  // namespace unboxed

// Registers operators by their structs in at::_ops, which know their names.
template <unboxed::Results kResults, class... Ops>
std::vector<Registration> native_operators() {
  const auto key = [](std::string name, std::string_view overload) {
    return overload.empty() ? name : name.append(".").append(overload);
  };
  return {Registration(ImplKind::kNative, key(Ops::name, Ops::overload_name).c_str(), unboxed::run<Ops, kResults>)...};
}

}  // namespace stator
