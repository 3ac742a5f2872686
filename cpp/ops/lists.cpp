// Lists, as TorchScript's own functions treat them. What those would refuse is left to them, so that the error is theirs.
#include <ATen/core/List.h>
#include <ATen/core/ivalue_inl.h>

#include <algorithm>
#include <limits>

#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator {
namespace {

using List = c10::List<c10::IValue>;

List new_list(const List& like, size_t reserved) {
  List list(like.elementType());
  list.reserve(reserved);
  return list;
}

// False if there is no such element. A negative index counts from the end.
bool wrap(int64_t& index, const List& list) {
  const auto size = static_cast<int64_t>(list.size());
  if (index < 0) index += size;
  return index >= 0 && index < size;
}

void copy_list(const Call& call) { call.out() = call.in(0).toList().copy(); }

void extend_with(List to, const List& from) {
  const size_t count = from.size();  // counted before: a list may extend itself
  to.reserve(to.size() + count);
  for (size_t i = 0; i < count; ++i) to.push_back(from.get(i));
}

void concatenate_lists(const Call& call) {
  List sum = call.in(0).toList().copy();
  extend_with(sum, call.in(1).toList());
  call.out() = std::move(sum);
}

void extend(const Call& call) { extend_with(call.in(0).toList(), call.in(1).toList()); }

void extend_and_return(const Call& call) {
  extend(call);
  call.out() = call.in(0);
}

void repeat(const Call& call) {
  const List list = call.in(0).toList();
  const int64_t times = call.in(1).toInt();
  if (times < 0) return run_boxed(call);
  List repeated = new_list(list, list.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) extend_with(repeated, list);
  call.out() = std::move(repeated);
}

void set_list_item(const Call& call) {
  List list = call.in(0).toList();
  int64_t index = call.in(1).toInt();
  if (!wrap(index, list)) return run_boxed(call);
  list.set(index, call.in(2));
  call.out() = call.in(0);
}

void insert(const Call& call) {
  List list = call.in(0).toList();
  const auto size = static_cast<int64_t>(list.size());
  int64_t index = call.in(1).toInt();
  if (index < 0) index += size;
  list.insert(list.begin() + std::clamp<int64_t>(index, 0, size), call.in(2));
}

void erase(const Call& call) {
  List list = call.in(0).toList();
  int64_t index = call.in(1).toInt();
  if (!wrap(index, list)) return run_boxed(call);
  list.erase(list.begin() + index);
}

void pop(const Call& call) {
  List list = call.in(0).toList();
  int64_t index = call.in(1).toInt();
  if (!wrap(index, list)) return run_boxed(call);
  c10::IValue element = list.get(index);
  list.erase(list.begin() + index);
  call.out() = std::move(element);
}

void clear_list(const Call& call) { call.in(0).toList().clear(); }

void reverse(const Call& call) {
  List list = call.in(0).toList();
  for (size_t i = 0, j = list.size(); i + 1 < j; ++i) {
    --j;
    c10::IValue element = list.get(i);
    list.set(i, list.get(j));
    list.set(j, std::move(element));
  }
}

// list[start:end:step] with Python's rules.
void slice(const Call& call) {
  const List list = call.in(0).toList();
  const auto size = static_cast<int64_t>(list.size());
  const int64_t step = call.in(3).isNone() ? 1 : call.in(3).toInt();
  if (step <= 0) return run_boxed(call);
  const auto bound = [size](const c10::IValue& value, int64_t absent) {
    if (value.isNone()) return absent;
    const int64_t index = value.toInt();
    return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const int64_t start = bound(call.in(1), 0), end = bound(call.in(2), size);
  List part = new_list(list, static_cast<size_t>(std::max<int64_t>(end - start, 0)));
  for (int64_t i = start; i < end; i = step < size ? i + step : end) part.push_back(list.get(i));
  call.out() = std::move(part);
}

template <bool kEqual, class T>
void equal(const Call& call) {
  const auto a = call.in(0).toListRef(), b = call.in(1).toListRef();
  const auto same = [](const c10::IValue& x, const c10::IValue& y) { return x.to<T>() == y.to<T>(); };
  call.out() = std::equal(a.begin(), a.end(), b.begin(), b.end(), same) == kEqual;
}

template <class T>
void contains(const Call& call) {
  const T wanted = call.in(1).to<T>();
  const auto elements = call.in(0).toListRef();
  call.out() = std::any_of(elements.begin(), elements.end(), [&](const c10::IValue& e) { return e.to<T>() == wanted; });
}

template <class T, bool kGreatest>
void extreme(const Call& call) {
  const auto elements = call.in(0).toListRef();
  if (elements.empty()) return run_boxed(call);
  T best = elements[0].to<T>();
  for (const c10::IValue& element : elements) {
    const T value = element.to<T>();
    if (kGreatest ? value > best : value < best) best = value;
  }
  call.out() = best;
}

void sum_of_ints(const Call& call) {
  uint64_t sum = 0;  // wraps around
  for (const c10::IValue& element : call.in(0).toListRef()) sum += static_cast<uint64_t>(element.toInt());
  call.out() = static_cast<int64_t>(sum);
}

template <class T>
void any(const Call& call) {
  const auto elements = call.in(0).toListRef();
  call.out() = std::any_of(elements.begin(), elements.end(), [](const c10::IValue& e) { return e.to<T>() != T(0); });
}

template <class T>
void all(const Call& call) {
  const auto elements = call.in(0).toListRef();
  call.out() = std::all_of(elements.begin(), elements.end(), [](const c10::IValue& e) { return e.to<T>() != T(0); });
}

void count_up(const Call& call) {
  const int64_t end = call.in(0).toInt();
  if (end < 0) return run_boxed(call);
  c10::List<int64_t> numbers;
  numbers.reserve(end);
  for (int64_t i = 0; i < end; ++i) numbers.push_back(i);
  call.out() = std::move(numbers);
}

const Registration kLists[] = {
    {ImplKind::kNative, "aten::copy.t", copy_list},
    {ImplKind::kNative, "aten::list.t", copy_list},
    {ImplKind::kNative, "aten::add.t", concatenate_lists},
    {ImplKind::kNative, "aten::add_.t", extend_and_return},
    {ImplKind::kNative, "aten::extend.t", extend},
    {ImplKind::kNative, "aten::mul.left_t", repeat},
    {ImplKind::kNative, "aten::_set_item.t", set_list_item},
    {ImplKind::kNative, "aten::insert.t", insert},
    {ImplKind::kNative, "aten::Delete.t", erase},
    {ImplKind::kNative, "aten::pop.t", pop},
    {ImplKind::kNative, "aten::clear.t", clear_list},
    {ImplKind::kNative, "aten::reverse.t", reverse},
    {ImplKind::kNative, "aten::slice.t", slice},
    {ImplKind::kNative, "aten::eq.int_list", equal<true, int64_t>},
    {ImplKind::kNative, "aten::eq.float_list", equal<true, double>},
    {ImplKind::kNative, "aten::eq.bool_list", equal<true, bool>},
    {ImplKind::kNative, "aten::eq.str_list", equal<true, std::string>},
    {ImplKind::kNative, "aten::ne.int_list", equal<false, int64_t>},
    {ImplKind::kNative, "aten::ne.float_list", equal<false, double>},
    {ImplKind::kNative, "aten::ne.bool_list", equal<false, bool>},
    {ImplKind::kNative, "aten::ne.str_list", equal<false, std::string>},
    {ImplKind::kNative, "aten::__contains__.float_list", contains<double>},
    {ImplKind::kNative, "prim::min.self_int", extreme<int64_t, false>},
    {ImplKind::kNative, "prim::min.self_float", extreme<double, false>},
    {ImplKind::kNative, "prim::max.self_int", extreme<int64_t, true>},
    {ImplKind::kNative, "prim::max.self_float", extreme<double, true>},
    {ImplKind::kNative, "aten::sum.int", sum_of_ints},
    {ImplKind::kNative, "aten::any.int", any<int64_t>},
    {ImplKind::kNative, "aten::any.float", any<double>},
    {ImplKind::kNative, "aten::any.bool", any<bool>},
    {ImplKind::kNative, "aten::all.int", all<int64_t>},
    {ImplKind::kNative, "aten::all.float", all<double>},
    {ImplKind::kNative, "aten::all.bool", all<bool>},
    {ImplKind::kNative, "prim::rangelist", count_up},
};

}  // namespace
}  // namespace stator
