#include "values/conform.h"

#include <ATen/core/enum_type.h>

#include <optional>

#include "graph/error.h"
#include "values/deep_copy.h"

namespace stator {
namespace {

[[noreturn]] void mismatch(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  throw Error(ErrorCode::kTypeMismatch,
              where + ": expected " + type->annotation_str() + ", got " + describe_kind(value), {"", "", "", where});
}

c10::IValue conform_list(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  const auto& element = type->expectRef<c10::ListType>().getElementType();
  if (!value.isList() && !value.isTuple()) mismatch(value, type, where);
  c10::impl::GenericList out(element);
  const auto add = [&](const c10::IValue& item, size_t i) {
    out.push_back(conform(item, element, where + ", element " + std::to_string(i)));
  };
  if (value.isList()) {
    auto list = value.toList();
    for (size_t i = 0; i < list.size(); ++i) add(list.get(i), i);
  } else {
    const auto& elements = value.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i) add(elements[i], i);
  }
  return out;
}

c10::IValue conform_tuple(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  const auto& elements = type->expectRef<c10::TupleType>().elements();
  std::vector<c10::IValue> items;
  if (value.isTuple()) {
    items = value.toTupleRef().elements().vec();
  } else if (value.isList()) {
    items = value.toListRef().vec();
  } else {
    mismatch(value, type, where);
  }
  if (items.size() != elements.size()) {
    throw Error(ErrorCode::kTypeMismatch,
                where + ": expected " + type->annotation_str() + ", got a tuple of " + std::to_string(items.size()) +
                    " elements",
                {"", "", "", where});
  }
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = conform(items[i], elements[i], where + ", element " + std::to_string(i));
  return c10::ivalue::Tuple::createNamed(std::move(items), type->cast<c10::TupleType>());
}

c10::IValue conform_dict(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  if (!value.isGenericDict()) mismatch(value, type, where);
  const auto& dict = type->expectRef<c10::DictType>();
  c10::impl::GenericDict out(dict.getKeyType(), dict.getValueType());
  for (const auto& pair : value.toGenericDict()) {
    out.insert(conform(pair.key(), dict.getKeyType(), where + ", a key"),
               conform(pair.value(), dict.getValueType(), where + ", a value"));
  }
  return out;
}

// A number, or a tensor of one element: TorchScript takes that for a number, as Python's int(), float() and bool() do.
std::optional<c10::Scalar> number_of(const c10::IValue& value) {
  if (value.isScalar()) return value.toScalar();
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 1) return value.toTensor().item();
  return std::nullopt;
}

c10::IValue conform_number(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  const auto number = number_of(value);
  if (!number) mismatch(value, type, where);
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      if (number->isIntegral(/*includeBool=*/true)) return number->toLong();
      break;
    case c10::TypeKind::FloatType:
      if (!number->isComplex()) return number->toDouble();
      break;
    case c10::TypeKind::BoolType:
      if (!number->isComplex()) return number->toDouble() != 0;
      break;
    default:
      return number->toComplexDouble();
  }
  mismatch(value, type, where);
}

// The first of the types that takes the value, unless one is the value's own.
c10::IValue conform_union(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  const auto members = type->expectRef<c10::UnionType>().containedTypes();
  for (const auto& member : members) {
    if (value.type()->isSubtypeOf(*member)) return conform(value, member, where);
  }
  for (const auto& member : members) {
    try {
      return conform(value, member, where);
    } catch (const Error&) {
      continue;
    }
  }
  mismatch(value, type, where);
}

// A member of an enumeration, by its name or as the model gave it.
c10::IValue conform_enum(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  if (value.isEnum() && *value.type() == *type) return value;
  const auto enumeration = type->cast<c10::EnumType>();
  if (!value.isString()) mismatch(value, type, where);
  std::string names;
  for (const auto& [name, member] : enumeration->enumNamesValues()) {
    if (name == value.toStringRef())
      return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enumeration, name, member));
    names += (names.empty() ? "" : ", ") + name;
  }
  throw Error(ErrorCode::kTypeMismatch,
              where + ": expected a member of " + type->annotation_str() + " (" + names + "), got \"" +
                  value.toStringRef() + "\"",
              {"", "", "", where});
}

// An object is copied, as containers are: what the model does to it is the model's. Objects of C++ cannot be copied.
c10::IValue conform_object(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  if (!value.type()->isSubtypeOf(*type)) mismatch(value, type, where);
  return value.isObject() && !value.isCustomClass() ? deep_copy(value) : value;
}

}  // namespace

std::string input_place(const std::string& name, size_t index) {
  return "input \"" + name + "\" (argument " + std::to_string(index + 1) + ")";
}

std::string describe_kind(const c10::IValue& value) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return "an undefined tensor";
    std::string out = "Tensor of ";
    out += std::to_string(value.toTensor().dim());
    return out + " dimensions";
  }
  if (value.isNone()) return "None";
  if (value.isBool()) return "bool";
  if (value.isInt()) return "int";
  if (value.isDouble()) return "float";
  if (value.isComplexDouble()) return "complex";
  if (value.isString()) return "str";
  if (value.isList()) return "list";
  if (value.isTuple()) return "tuple";
  if (value.isGenericDict()) return "dict";
  if (value.isDevice()) return "device";
  return value.tagKind();
}

c10::IValue conform(const c10::IValue& value, const c10::TypePtr& type, const std::string& where) {
  switch (type->kind()) {
    case c10::TypeKind::AnyType:
      return value;
    case c10::TypeKind::TensorType:
      if (!value.isTensor()) mismatch(value, type, where);
      return value;
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::BoolType:
      return conform_number(value, type, where);
    case c10::TypeKind::NumberType:
      if (!value.isScalar()) mismatch(value, type, where);
      return value;
    case c10::TypeKind::StringType:
      if (!value.isString()) mismatch(value, type, where);
      return value;
    case c10::TypeKind::NoneType:
      if (!value.isNone()) mismatch(value, type, where);
      return value;
    case c10::TypeKind::DeviceObjType:
      if (value.isString()) return c10::Device(value.toStringRef());
      if (!value.isDevice()) mismatch(value, type, where);
      return value;
    case c10::TypeKind::OptionalType:
      if (value.isNone()) return value;
      return conform(value, type->expectRef<c10::OptionalType>().getElementType(), where);
    case c10::TypeKind::ListType:
      return conform_list(value, type, where);
    case c10::TypeKind::TupleType:
      return conform_tuple(value, type, where);
    case c10::TypeKind::DictType:
      return conform_dict(value, type, where);
    case c10::TypeKind::UnionType:
      return conform_union(value, type, where);
    case c10::TypeKind::EnumType:
      return conform_enum(value, type, where);
    default:
      return conform_object(value, type, where);
  }
}

}  // namespace stator
