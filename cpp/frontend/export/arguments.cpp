#include "frontend/export/arguments.h"

#include <ATen/ScalarOps.h>

#include <algorithm>

#include "frontend/json.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

using Kind = c10::TypeKind;

c10::TypePtr without_optional(c10::TypePtr type) {
  while (type->kind() == Kind::OptionalType) type = type->expectRef<c10::OptionalType>().getElementType();
  return type;
}

// As the operator's own Python binding does it: a number that stands for a tensor does not take part in type promotion as one.
at::Tensor wrapped(const at::Scalar& number) {
  at::Tensor out = c10::scalar_to_tensor(number);
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

c10::IValue fitted(const c10::IValue& value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case Kind::FloatType:
      return value.isInt() ? c10::IValue(static_cast<double>(value.toInt())) : value;
    case Kind::BoolType:
      return value.isInt() ? c10::IValue(value.toInt() != 0) : value;
    case Kind::IntType:
      return value.isBool() ? c10::IValue(static_cast<int64_t>(value.toBool())) : value;
    case Kind::TensorType:
      return value.isScalar() ? c10::IValue(wrapped(value.toScalar())) : value;
    default:
      return value;
  }
}

// Of what LibTorch's boxed calls would read blindly.
void check_fits(const Builder& builder, const c10::IValue& value, const c10::TypePtr& type, const std::string& name) {
  const auto kind = type->kind();
  const bool fits = kind == Kind::NumberType ? value.isScalar()
                    : kind == Kind::GeneratorType
                        ? value.isNone()
                        : value.type()->isSubtypeOf(*type) || kind == Kind::AnyType || kind == Kind::VarType;
  if (fits) return;
  throw Error(
      ErrorCode::kBadModel,
      "argument \"" + name + "\" should be " + type->annotation_str() + ", but is " + value.type()->annotation_str(),
      {"", "", builder.source().str(), ""});
}

Value* build_constant(Builder& builder, const c10::IValue& value, const c10::Argument* formal) {
  if (!formal) return builder.constant(value);
  const c10::TypePtr type = without_optional(formal->type());
  if (value.isNone()) {
    // A tensor may be left out where its type is not Optional: "Tensor?[]" and some old schemas.
    return builder.constant(value, c10::NoneType::get());
  }
  if (type->kind() == Kind::ListType && !value.isList()) {
    // kernel_size=3 for int[2]
    const auto element = type->expectRef<c10::ListType>().getElementType();
    c10::impl::GenericList out(element);
    const c10::IValue one = fitted(value, element);
    check_fits(builder, one, element, formal->name());
    for (int32_t i = 0; i < formal->N().value_or(1); ++i) out.push_back(one);
    return builder.constant(out, type);
  }
  const c10::IValue out = fitted(value, type);
  check_fits(builder, out, type, formal->name());
  return builder.constant(out, type->kind() == Kind::TensorType ? c10::TypePtr(c10::TensorType::get()) : out.type());
}

// Without a schema: what the elements are.
c10::TypePtr common_type(const std::vector<Value*>& values) {
  if (values.empty()) return c10::TensorType::get();
  const c10::TypePtr& first = values[0]->type;
  const bool same = std::all_of(values.begin(), values.end(), [&](const Value* v) { return *v->type == *first; });
  return same ? first : c10::TypePtr(c10::AnyType::get());
}

Value* build_list(Builder& builder, const Scope& scope, const ArgumentList& elements, const c10::Argument* formal) {
  c10::TypePtr element_type;
  if (formal) {
    const c10::TypePtr type = without_optional(formal->type());
    if (type->kind() != Kind::ListType) {
      throw Error(ErrorCode::kBadModel,
                  "argument \"" + formal->name() + "\" should be " + type->annotation_str() + ", but is a list",
                  {"", "", builder.source().str(), ""});
    }
    element_type = type->expectRef<c10::ListType>().getElementType();
  }
  const bool known = element_type && std::all_of(elements.begin(), elements.end(),
                                                 [](const Argument& element) { return element.constant() != nullptr; });
  if (known && without_optional(element_type)->kind() != Kind::TensorType) {
    c10::impl::GenericList out(element_type);
    for (const Argument& element : elements) {
      const c10::IValue value = fitted(*element.constant(), element_type);
      if (!value.isNone() || element_type->kind() != Kind::OptionalType)
        check_fits(builder, value, without_optional(element_type), formal->name());
      out.push_back(value);
    }
    return builder.constant(out, c10::ListType::create(element_type));
  }
  std::vector<Value*> values;
  for (const Argument& element : elements) {
    if (element.constant() && element_type) {
      const c10::Argument inner(formal->name(), element_type);
      values.push_back(build_constant(builder, *element.constant(), &inner));
    } else {
      values.push_back(build_argument(builder, scope, element, nullptr));
    }
  }
  if (!element_type) element_type = common_type(values);
  return builder.list(std::move(values), element_type);
}

// A number computed at run time, as the schema wants it.
Value* fitted(Builder& builder, Value* value, const c10::Argument* formal) {
  if (!formal) return value;
  const c10::TypePtr type = without_optional(formal->type());
  const auto have = value->type->kind();
  if (type->kind() == Kind::FloatType && have == Kind::IntType) return builder.call("aten::Float.int", {value});
  if (type->kind() == Kind::IntType && have == Kind::BoolType) return builder.call("aten::Int.bool", {value});
  if (type->kind() == Kind::TensorType && have != Kind::TensorType && have != Kind::NoneType) {
    Value* none = builder.constant(c10::IValue(), c10::NoneType::get());
    // A float is of the default dtype, as it makes ints that it meets.
    Value* dtype = have == Kind::IntType    ? builder.constant(static_cast<int64_t>(at::kLong))
                   : have == Kind::BoolType ? builder.constant(static_cast<int64_t>(at::kBool))
                                            : none;
    return builder.call("aten::scalar_tensor", {value, dtype, none, none, none});
  }
  if (type->kind() == Kind::ListType && value->type->kind() == Kind::IntType) {
    std::vector<Value*> copies(static_cast<size_t>(formal->N().value_or(1)), value);
    return builder.list(std::move(copies), c10::IntType::get());
  }
  return value;
}

}  // namespace

Value* named(const Scope& scope, const std::string& name) {
  auto found = scope.find(name);
  if (found == scope.end()) malformed("\"" + name + "\" is used but never made");
  return found->second;
}

Value* build_argument(Builder& builder, const Scope& scope, const Argument& argument, const c10::Argument* formal) {
  if (const c10::IValue* constant = argument.constant()) return build_constant(builder, *constant, formal);
  if (const Reference* reference = argument.reference()) return fitted(builder, named(scope, reference->name), formal);
  if (const ArgumentList* elements = argument.list()) return build_list(builder, scope, *elements, formal);
  malformed("a graph stands where a value should");
}

std::vector<Value*> build_operands(Builder& builder, const Scope& scope, const Argument& argument) {
  std::vector<Value*> out;
  if (const ArgumentList* elements = argument.list()) {
    for (const Argument& element : *elements) out.push_back(build_argument(builder, scope, element, nullptr));
  } else {
    out.push_back(build_argument(builder, scope, argument, nullptr));
  }
  return out;
}

}  // namespace stator::exported
