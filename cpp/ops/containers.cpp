// Lists, tuples, dicts and objects of TorchScript classes.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue_inl.h>

#include <memory>
#include <utility>
#include <vector>

#include "ops/fallback.h"
#include "ops/registry.h"

namespace stator {
namespace {

template <class T>
Implementation prepared(OpFunction run, T data) {
  Implementation chosen;
  chosen.run = run;
  chosen.data = std::make_shared<const T>(std::move(data));
  return chosen;
}

void list_construct(const Call& call) {
  c10::List<c10::IValue> list(call.data<c10::TypePtr>());
  list.reserve(call.input_count());
  for (int i = 0; i < call.input_count(); ++i) list.push_back(call.in(i));
  call.out() = std::move(list);
}

Implementation prepare_list_construct(const Node& node) {
  return prepared(list_construct, node.output()->type->expectRef<c10::ListType>().getElementType());
}

std::vector<c10::IValue> arguments(const Call& call) {
  std::vector<c10::IValue> values;
  values.reserve(call.input_count());
  for (int i = 0; i < call.input_count(); ++i) values.push_back(call.in(i));
  return values;
}

// Small tuples keep their elements inline.
void tuple_construct(const Call& call) {
  switch (call.input_count()) {
    case 1:
      call.out() = c10::ivalue::Tuple::create(call.in(0));
      break;
    case 2:
      call.out() = c10::ivalue::Tuple::create(call.in(0), call.in(1));
      break;
    case 3:
      call.out() = c10::ivalue::Tuple::create(call.in(0), call.in(1), call.in(2));
      break;
    default:
      call.out() = c10::ivalue::Tuple::create(arguments(call));
  }
}

void named_tuple_construct(const Call& call) {
  call.out() = c10::ivalue::Tuple::createNamed(arguments(call), call.data<c10::TupleTypePtr>());
}

Implementation prepare_tuple_construct(const Node& node) {
  c10::TupleTypePtr type = node.output()->type->expect<c10::TupleType>();
  if (type->name()) return prepared(named_tuple_construct, std::move(type));
  return prepared(tuple_construct, 0);
}

void dict_construct(const Call& call) {
  const auto& type = *call.data<c10::DictTypePtr>();
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  dict.reserve(call.input_count() / 2);
  for (int i = 0; i + 1 < call.input_count(); i += 2) dict.insert_or_assign(call.in(i), call.in(i + 1));
  call.out() = std::move(dict);
}

Implementation prepare_dict_construct(const Node& node) {
  return prepared(dict_construct, node.output()->type->expect<c10::DictType>());
}

void list_unpack(const Call& call) {
  const size_t count = call.data<size_t>();
  const auto elements = call.in(0).toListRef();
  TORCH_CHECK(elements.size() == count, "Expected ", count, " elements in a list but found ", elements.size());
  for (size_t i = 0; i < count; ++i) call.out(static_cast<int>(i)) = elements[i];
}

Implementation prepare_list_unpack(const Node& node) { return prepared(list_unpack, node.outputs.size()); }

void tuple_unpack(const Call& call) {
  const auto& elements = call.in(0).toTupleRef().elements();
  TORCH_CHECK(elements.size() == call.data<size_t>(), "Expected a tuple of ", call.data<size_t>(),
              " elements but found ", elements.size());
  for (size_t i = 0; i < elements.size(); ++i) call.out(static_cast<int>(i)) = elements[i];
}

Implementation prepare_tuple_unpack(const Node& node) { return prepared(tuple_unpack, node.outputs.size()); }

void tuple_index(const Call& call) {
  const auto& elements = call.in(0).toTupleRef().elements();
  const auto size = static_cast<int64_t>(elements.size());
  int64_t index = call.in(1).toInt();
  if (index < 0) index += size;
  TORCH_CHECK_INDEX(index >= 0 && index < size, "Tuple list index out of range");
  call.out() = elements[index];
}

// An attribute is a slot of its class. An object whose static type is an interface has its class looked at in each run.
struct Attribute {
  const c10::ClassType* type;
  size_t slot;
  std::string name;
};

Attribute attribute_of(const Node& node) {
  const auto type = node.input()->type->cast<c10::ClassType>();
  return type ? Attribute{type.get(), type->getAttributeSlot(node.name), node.name} : Attribute{nullptr, 0, node.name};
}

size_t slot_of(const Attribute& attribute, const c10::ivalue::Object& object) {
  const auto type = object.type();
  return type.get() == attribute.type ? attribute.slot : type->getAttributeSlot(attribute.name);
}

void get_attribute(const Call& call) {
  const auto& object = call.in(0).toObjectRef();
  call.out() = object.getSlot(slot_of(call.data<Attribute>(), object));
}

void set_attribute(const Call& call) {
  const auto object = call.in(0).toObject();
  object->setSlot(slot_of(call.data<Attribute>(), *object), call.in(1));
}

Implementation prepare_get_attribute(const Node& node) { return prepared(get_attribute, attribute_of(node)); }
Implementation prepare_set_attribute(const Node& node) { return prepared(set_attribute, attribute_of(node)); }

void create_object(const Call& call) {
  const c10::ClassTypePtr& type = call.data<c10::ClassTypePtr>();
  call.out() = c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes());
}

Implementation prepare_create_object(const Node& node) {
  return prepared(create_object, node.output()->type->expect<c10::ClassType>());
}

void is_instance(const Call& call) {
  const c10::TypePtr type = call.in(0).type();
  bool found = false;
  for (const c10::TypePtr& candidate : call.data<std::vector<c10::TypePtr>>())
    found = found || type->isSubtypeOf(*candidate);
  call.out() = found;
}

Implementation prepare_is_instance(const Node& node) { return prepared(is_instance, node.types); }

void uninitialized(const Call& call) { call.out() = c10::IValue::uninitialized(); }

void list_item(const Call& call) {
  const auto elements = call.in(0).toListRef();
  const auto size = static_cast<int64_t>(elements.size());
  int64_t index = call.in(1).toInt();
  if (index < 0) index += size;
  if (index < 0 || index >= size) return run_boxed(call);
  call.out() = elements[index];
}

void list_append(const Call& call) {
  call.in(0).toList().push_back(call.in(1));
  call.out() = call.in(0);
}

void list_length(const Call& call) { call.out() = static_cast<int64_t>(call.in(0).toListRef().size()); }

void int_list_contains(const Call& call) {
  const int64_t wanted = call.in(1).toInt();
  bool found = false;
  for (const c10::IValue& element : call.in(0).toListRef()) found = found || element.toInt() == wanted;
  call.out() = found;
}

void string_list_contains(const Call& call) {
  const std::string& wanted = call.in(1).toStringRef();
  bool found = false;
  for (const c10::IValue& element : call.in(0).toListRef()) found = found || element.toStringRef() == wanted;
  call.out() = found;
}

const Registration kContainers[] = {
    {ImplKind::kNative, "prim::CreateObject", prepare_create_object},
    {ImplKind::kNative, "prim::DictConstruct", prepare_dict_construct},
    {ImplKind::kNative, "prim::GetAttr", prepare_get_attribute},
    {ImplKind::kNative, "prim::ListConstruct", prepare_list_construct},
    {ImplKind::kNative, "prim::ListUnpack", prepare_list_unpack},
    {ImplKind::kNative, "prim::SetAttr", prepare_set_attribute},
    {ImplKind::kNative, "prim::TupleConstruct", prepare_tuple_construct},
    {ImplKind::kNative, "prim::TupleIndex", tuple_index},
    {ImplKind::kNative, "prim::TupleUnpack", prepare_tuple_unpack},
    {ImplKind::kNative, "prim::Uninitialized", uninitialized},
    {ImplKind::kNative, "prim::isinstance", prepare_is_instance},
    {ImplKind::kNative, "aten::__contains__.int_list", int_list_contains},
    {ImplKind::kNative, "aten::__contains__.str_list", string_list_contains},
    {ImplKind::kNative, "aten::__getitem__.t", list_item},
    {ImplKind::kNative, "aten::append.t", list_append},
    {ImplKind::kNative, "aten::len.t", list_length},
    {ImplKind::kNative, "aten::len.any", list_length},
};

}  // namespace
}  // namespace stator
