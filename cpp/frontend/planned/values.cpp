#include "frontend/planned/values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/function.h>
#include <ATen/core/jit_type.h>

#include <bit>
#include <cmath>

#include "graph/error.h"

namespace stator::planned {
namespace {

using namespace json;

// As bits where JSON has no number for it.
Json write_float(double number) {
  if (std::isfinite(number)) return number;
  return {{"float", std::bit_cast<int64_t>(number)}};
}

double read_bits(const Json& bits) { return std::bit_cast<double>(integer(bits, "a float")); }

bool is_utf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// Objects of operator libraries' classes say themselves what is to be written of them, if they can.
bool is_bound(const c10::ivalue::Object& object) {
  return object.type()->numAttributes() == 1 && object.type()->getAttribute(0)->kind() == c10::TypeKind::CapsuleType;
}

c10::IValue call(const c10::ClassType& type, const std::string& name, std::vector<c10::IValue> arguments) {
  auto* method = type.findMethod(name);
  if (!method)
    throw Error(ErrorCode::kUnsupported,
                "an object of the class " + type.annotation_str() + " cannot be saved: the class has no " + name);
  method->run(arguments);
  return arguments.empty() ? c10::IValue() : std::move(arguments.back());
}

bool fits(const c10::IValue& value, const c10::TypePtr& type) { return value.type()->isSubtypeOf(*type); }

}  // namespace

Json write_text(const std::string& text) {
  if (is_utf8(text)) return text;
  Json bytes = Json::array();
  for (char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return {{"bytes", std::move(bytes)}};
}

std::string read_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string out;
  for (const Json& byte : list(member(value, "bytes"), "bytes")) out += static_cast<char>(integer(byte, "a byte"));
  return out;
}

Json ValueWriter::write(const c10::IValue& value) {
  if (value.isNone()) return nullptr;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return write_float(value.toDouble());
  if (value.isString()) return write_text(value.toStringRef());
  if (value.isTensor()) return {{"tensor", tensors_.add(value.toTensor())}};
  if (value.isDevice()) return {{"device", value.toDevice().str()}};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return {{"complex", {std::bit_cast<int64_t>(number.real()), std::bit_cast<int64_t>(number.imag())}}};
  }
  return {{"value", add(value)}};
}

int64_t ValueWriter::add(const c10::IValue& container) {
  if (!container.isPtrType())
    throw Error(ErrorCode::kUnsupported, "a value of type " + container.type()->annotation_str() + " cannot be saved");
  const void* key = container.internalToPointer();
  const auto [known, added] = known_.emplace(key, -1);
  if (!added) {
    if (known->second < 0)
      throw Error(ErrorCode::kUnsupported,
                  "a value of type " + container.type()->annotation_str() + " that holds itself cannot be saved");
    return known->second;
  }
  kept_.push_back(container);
  Json row = row_of(container);
  rows_.push_back(std::move(row));
  return known_[key] = static_cast<int64_t>(rows_.size()) - 1;
}

Json ValueWriter::row_of(const c10::IValue& container) {
  Json items = Json::array();
  if (container.isList()) {
    for (const c10::IValue& item : container.toListRef()) items.push_back(write(item));
    return {{"list", {types_.add(container.toList().elementType()), std::move(items)}}};
  }
  if (container.isTuple()) {
    for (const c10::IValue& item : container.toTupleRef().elements()) items.push_back(write(item));
    const auto type = container.type();
    return {
        {"tuple", {type->expectRef<c10::TupleType>().schema() ? Json(types_.add(type)) : Json(), std::move(items)}}};
  }
  if (container.isGenericDict()) {
    const auto dict = container.toGenericDict();
    for (const auto& pair : dict) {
      items.push_back(write(pair.key()));
      items.push_back(write(pair.value()));
    }
    return {{"dict", {types_.add(dict.keyType()), types_.add(dict.valueType()), std::move(items)}}};
  }
  if (container.isObject()) {
    const auto object = container.toObject();
    const int64_t type = types_.add(object->type());
    if (is_bound(*object))
      return {{"bound", {type, Json::array({write(call(*object->type(), "__getstate__", {object}))})}}};
    for (const c10::IValue& attribute : object->slots()) items.push_back(write(attribute));
    return {{"object", {type, std::move(items)}}};
  }
  if (container.isEnum()) {
    const auto holder = container.toEnumHolder();
    return {{"enum", {types_.add(holder->type()), Json::array({holder->name()})}}};
  }
  throw Error(ErrorCode::kUnsupported, "a value of type " + container.type()->annotation_str() + " cannot be saved");
}

ValueReader::ValueReader(const Json& rows, const TypeReader& types, const TensorReader& tensors)
    : types_(types), tensors_(tensors) {
  for (const Json& row : list(rows, "values")) containers_.push_back(read_row(row));
}

c10::IValue ValueReader::read(const Json& value) const {
  if (value.is_null()) return {};
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return integer(value, "a number");
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  const auto [kind, inner] = alternative(value, "a value");
  if (kind == "float") return read_bits(*inner);
  if (kind == "bytes") return read_text(value);
  if (kind == "tensor") return tensors_[*inner];
  if (kind == "device") return c10::Device(text(*inner, "a device"));
  if (kind == "complex" && list(*inner, "a number").size() == 2)
    return c10::complex<double>(read_bits((*inner)[0]), read_bits((*inner)[1]));
  if (kind != "value") malformed("there is no value of kind " + std::string(kind));
  const int64_t index = integer(*inner, "a value");
  if (index < 0 || index >= static_cast<int64_t>(containers_.size())) malformed("there is no value " + inner->dump());
  return containers_[static_cast<size_t>(index)];
}

c10::IValue ValueReader::read_row(const Json& row) const {
  const auto [kind, parts] = alternative(row, "a value");
  const size_t count = kind == "dict" ? 3 : 2;
  if (list(*parts, "a value").size() != count) malformed("a value is not what it should be");
  const Json& items = list(parts->back(), "elements");
  if (kind == "list") {
    c10::impl::GenericList out(types_[(*parts)[0]]);
    out.reserve(items.size());
    for (const Json& item : items) {
      c10::IValue value = read(item);
      if (!fits(value, out.elementType())) malformed("an element does not fit its list");
      out.push_back(std::move(value));
    }
    return out;
  }
  if (kind == "dict") {
    c10::impl::GenericDict out(types_[(*parts)[0]], types_[(*parts)[1]]);
    if (items.size() % 2 != 0) malformed("a key has no value");
    for (size_t i = 0; i < items.size(); i += 2) {
      c10::IValue key = read(items[i]), value = read(items[i + 1]);
      if (!fits(key, out.keyType()) || !fits(value, out.valueType())) malformed("an element does not fit its dict");
      out.insert(std::move(key), std::move(value));
    }
    return out;
  }
  if (kind == "object" || kind == "bound") return read_object(types_[(*parts)[0]], items, kind == "bound");
  if (kind == "enum") return read_enum(types_[(*parts)[0]], items);
  if (kind != "tuple") malformed("there is no value of kind " + std::string(kind));
  std::vector<c10::IValue> elements;
  for (const Json& item : items) elements.push_back(read(item));
  if ((*parts)[0].is_null()) return c10::ivalue::Tuple::create(std::move(elements));
  const auto type = types_[(*parts)[0]]->cast<c10::TupleType>();
  if (!type || type->elements().size() != elements.size()) malformed("a tuple does not fit its type");
  return c10::ivalue::Tuple::createNamed(std::move(elements), type);
}

c10::IValue ValueReader::read_object(const c10::TypePtr& type, const Json& items, bool bound) const {
  const auto class_type = type->cast<c10::ClassType>();
  if (!class_type || items.size() != class_type->numAttributes()) malformed("an object does not fit its class");
  auto object = c10::ivalue::Object::create(c10::StrongTypePtr(class_type->compilation_unit(), class_type),
                                            class_type->numAttributes());
  if (bound) {
    call(*class_type, "__setstate__", {object, read(items[0])});
    return object;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    c10::IValue attribute = read(items[i]);
    if (!fits(attribute, class_type->getAttribute(i))) malformed("an attribute does not fit its class");
    object->setSlot(i, std::move(attribute));
  }
  return object;
}

c10::IValue ValueReader::read_enum(const c10::TypePtr& type, const Json& items) const {
  const auto enum_type = type->cast<c10::EnumType>();
  if (!enum_type || items.size() != 1) malformed("a value does not fit its enumeration");
  for (const auto& [name, value] : enum_type->enumNamesValues()) {
    if (name == text(items[0], "a name"))
      return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enum_type, name, value));
  }
  malformed("an enumeration has no " + items[0].dump());
}

}  // namespace stator::planned
