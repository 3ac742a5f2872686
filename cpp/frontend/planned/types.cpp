#include "frontend/planned/types.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <array>

#include "graph/error.h"
#include "graph/named_tuple.h"

namespace stator::planned {
namespace {

using namespace json;

struct Plain {
  const char* name;
  c10::TypePtr type;
};

// Types without parts.
const std::array<Plain, 25>& plain_types() {
  static const auto& types = *new std::array<Plain, 25>{{
      {"Tensor", c10::TensorType::get()},
      {"int", c10::IntType::get()},
      {"float", c10::FloatType::get()},
      {"bool", c10::BoolType::get()},
      {"complex", c10::ComplexType::get()},
      {"Scalar", c10::NumberType::get()},
      {"str", c10::StringType::get()},
      {"None", c10::NoneType::get()},
      {"Device", c10::DeviceObjType::get()},
      {"Any", c10::AnyType::get()},
      {"Generator", c10::GeneratorType::get()},
      {"Stream", c10::StreamObjType::get()},
      {"Layout", c10::LayoutType::get()},
      {"ScalarType", c10::ScalarTypeType::get()},
      {"MemoryFormat", c10::MemoryFormatType::get()},
      {"QScheme", c10::QSchemeType::get()},
      {"Storage", c10::StorageType::get()},
      {"Capsule", c10::CapsuleType::get()},
      {"AnyList", c10::AnyListType::get()},
      {"AnyTuple", c10::AnyTupleType::get()},
      {"AnyClass", c10::AnyClassType::get()},
      {"AnyEnum", c10::AnyEnumType::get()},
      {"SymInt", c10::SymIntType::get()},
      {"SymFloat", c10::SymFloatType::get()},
      {"SymBool", c10::SymBoolType::get()},
  }};
  return types;
}

// LibTorch's own cast leaves enumerations out.
c10::NamedTypePtr as_named(const c10::TypePtr& type) {
  if (auto enumeration = type->cast<c10::EnumType>()) return enumeration;
  return type->cast<c10::NamedType>();
}

}  // namespace

int64_t TypeWriter::add(const c10::TypePtr& type) {
  Json row = row_of(type);
  const auto [known, added] = known_.emplace(row.dump(), static_cast<int64_t>(rows_.size()));
  if (added) rows_.push_back(std::move(row));
  return known->second;
}

Json TypeWriter::row_of(const c10::TypePtr& type) {
  const auto parts = [&](Json row) {
    for (const c10::TypePtr& part : type->containedTypes()) row.push_back(add(part));
    return row;
  };
  switch (type->kind()) {
    case c10::TypeKind::ListType:
      return parts({"List"});
    case c10::TypeKind::DictType:
      return parts({"Dict"});
    case c10::TypeKind::FutureType:
      return parts({"Future"});
    case c10::TypeKind::OptionalType:
      return {"Optional", add(type->expectRef<c10::OptionalType>().getElementType())};
    case c10::TypeKind::UnionType:
      return parts({"Union"});
    case c10::TypeKind::VarType:
      return {"Var", type->expectRef<c10::VarType>().name()};
    case c10::TypeKind::TupleType: {
      const auto& tuple = type->expectRef<c10::TupleType>();
      if (!tuple.schema()) return parts({"Tuple"});
      Json fields = Json::array();
      for (const c10::Argument& field : tuple.schema()->arguments()) fields.push_back(field.name());
      return parts({"NamedTuple", tuple.name() ? Json(tuple.name()->qualifiedName()) : Json(), fields});
    }
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::EnumType: {
      const auto named = as_named(type);
      if (std::find(classes_.begin(), classes_.end(), named) == classes_.end()) classes_.push_back(named);
      return {"Class", named->name().value().qualifiedName()};
    }
    default:
      break;
  }
  for (const Plain& plain : plain_types()) {
    if (plain.type->kind() == type->kind()) return plain.name;
  }
  throw Error(ErrorCode::kUnsupported, "a value of type " + type->annotation_str() + " cannot be saved");
}

TypeReader::TypeReader(const Json& rows, const std::function<c10::TypePtr(const std::string&)>& find_class) {
  for (const Json& row : list(rows, "types")) types_.push_back(read(row, find_class));
}

const c10::TypePtr& TypeReader::operator[](const Json& row) const {
  const int64_t index = integer(row, "a type");
  if (index < 0 || index >= static_cast<int64_t>(types_.size())) malformed("there is no type " + row.dump());
  return types_[static_cast<size_t>(index)];
}

c10::TypePtr TypeReader::read(const Json& row,
                              const std::function<c10::TypePtr(const std::string&)>& find_class) const {
  if (row.is_string()) {
    for (const Plain& plain : plain_types()) {
      if (row == plain.name) return plain.type;
    }
    malformed("there is no type " + row.dump());
  }
  if (list(row, "a type").size() < 2) {
    if (row.size() == 1 && row[0] == "Tuple") return c10::TupleType::create({});
    malformed("a type has no parts");
  }
  const std::string& kind = text(row[0], "a type");
  const auto parts = [&](size_t from) {
    std::vector<c10::TypePtr> out;
    for (size_t i = from; i < row.size(); ++i) out.push_back((*this)[row[i]]);
    return out;
  };
  if (kind == "List") return c10::ListType::create((*this)[row[1]]);
  if (kind == "Dict" && row.size() == 3) return c10::DictType::create((*this)[row[1]], (*this)[row[2]]);
  if (kind == "Future") return c10::FutureType::create((*this)[row[1]]);
  if (kind == "Optional") return c10::OptionalType::create((*this)[row[1]]);
  if (kind == "Union") return c10::UnionType::create(parts(1));
  if (kind == "Var") return c10::VarType::create(text(row[1], "a type"));
  if (kind == "Tuple") return c10::TupleType::create(parts(1));
  if (kind == "Class") return find_class(text(row[1], "a class"));
  if (kind != "NamedTuple" || row.size() < 3) malformed("there is no type " + kind);
  std::vector<std::string> fields;
  for (const Json& field : list(row[2], "fields")) fields.push_back(text(field, "a field"));
  const auto elements = parts(3);
  if (fields.size() != elements.size()) malformed("a tuple has not as many names as elements");
  std::optional<c10::QualifiedName> name;
  if (!row[1].is_null()) name = c10::QualifiedName(text(row[1], "a tuple's name"));
  return named_tuple_type(name, fields, elements);
}

}  // namespace stator::planned
