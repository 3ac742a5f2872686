// Dicts, as TorchScript's own functions treat them: one function serves the overloads of all key types.
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue_inl.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator {
namespace {

using Dict = c10::impl::GenericDict;
using List = c10::impl::GenericList;

void keys(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  List keys(dict.keyType());
  keys.reserve(dict.size());
  for (const auto& entry : dict) keys.push_back(entry.key());
  call.out() = std::move(keys);
}

void values(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  List values(dict.valueType());
  values.reserve(dict.size());
  for (const auto& entry : dict) values.push_back(entry.value());
  call.out() = std::move(values);
}

void items(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  List items(c10::TupleType::create({dict.keyType(), dict.valueType()}));
  items.reserve(dict.size());
  for (const auto& entry : dict) items.push_back(c10::ivalue::Tuple::create(entry.key(), entry.value()));
  call.out() = std::move(items);
}

void dict_item(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  const auto found = dict.find(call.in(1));
  if (found == dict.end()) return run_boxed(call);
  call.out() = found->value();
}

void get(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  const auto found = dict.find(call.in(1));
  call.out() = found == dict.end() ? c10::IValue() : found->value();
}

void get_or(const Call& call) {
  const Dict dict = call.in(0).toGenericDict();
  const auto found = dict.find(call.in(1));
  call.out() = found == dict.end() ? call.in(2) : found->value();
}

void set_dict_item(const Call& call) { call.in(0).toGenericDict().insert_or_assign(call.in(1), call.in(2)); }

void contains(const Call& call) { call.out() = call.in(0).toGenericDict().contains(call.in(1)); }

void dict_length(const Call& call) { call.out() = static_cast<int64_t>(call.in(0).toGenericDict().size()); }

void copy_dict(const Call& call) { call.out() = call.in(0).toGenericDict().copy(); }

void clear_dict(const Call& call) { call.in(0).toGenericDict().clear(); }

void update(const Call& call) {
  Dict dict = call.in(0).toGenericDict();
  const Dict added = call.in(1).toGenericDict();
  if (dict.is(added)) return;
  for (const auto& entry : added) dict.insert_or_assign(entry.key(), entry.value());
}

// Keys that are tensors are compared by identity, which hashing them does not need to change: they are left to TorchScript.
std::vector<Registration> for_all_keys(const char* name, const char* prefix, OpFunction run) {
  std::vector<Registration> for_keys;
  for (const char* key : {"str", "int", "bool", "float"}) {
    const std::string full = std::string(name) + "." + prefix + key;
    for_keys.emplace_back(ImplKind::kNative, full.c_str(), run);
  }
  return for_keys;
}

const std::vector<Registration> kDicts[] = {
    for_all_keys("aten::keys", "", keys),
    for_all_keys("aten::values", "", values),
    for_all_keys("aten::items", "", items),
    for_all_keys("aten::get", "", get),
    for_all_keys("aten::get", "default_", get_or),
    for_all_keys("aten::__getitem__", "Dict_", dict_item),
    for_all_keys("aten::_set_item", "", set_dict_item),
    for_all_keys("aten::__contains__", "", contains),
    for_all_keys("aten::len", "Dict_", dict_length),
    for_all_keys("aten::copy", "Dict_", copy_dict),
    for_all_keys("aten::clear", "", clear_dict),
    for_all_keys("aten::update", "", update),
};

}  // namespace
}  // namespace stator
