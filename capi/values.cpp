#include "values.h"

#include "graph/error.h"
#include "graph/log.h"
#include "tensors.h"

namespace stator::capi {

std::unique_ptr<stator_value> make_value(c10::IValue value, Lease lease) {
  // Nothing else has memory of an arena.
  if (!value.isTensor() && !value.isList() && !value.isTuple() && !value.isGenericDict()) lease = {};
  return std::make_unique<stator_value>(std::move(value), std::move(lease));
}

int32_t kind_of(const c10::IValue& value) {
  if (value.isNone()) return STATOR_KIND_NONE;
  if (value.isBool()) return STATOR_KIND_BOOL;
  if (value.isInt()) return STATOR_KIND_INT;
  if (value.isDouble()) return STATOR_KIND_FLOAT;
  if (value.isComplexDouble()) return STATOR_KIND_COMPLEX;
  if (value.isString()) return STATOR_KIND_STR;
  if (value.isTensor()) return STATOR_KIND_TENSOR;
  if (value.isList()) return STATOR_KIND_LIST;
  if (value.isTuple()) return STATOR_KIND_TUPLE;
  if (value.isGenericDict()) return STATOR_KIND_DICT;
  if (value.isDevice()) return STATOR_KIND_DEVICE;
  return STATOR_KIND_OBJECT;
}

Arguments read_arguments(const stator_value* args, const stator_value* kwargs) {
  Arguments out;
  if (args) {
    if (args->value.isTuple()) {
      out.positional = args->value.toTupleRef().elements().vec();
    } else if (args->value.isList()) {
      out.positional = args->value.toListRef().vec();
    } else {
      throw Error(ErrorCode::kInvalidArgument, "parameter \"args\": expected a tuple or a list", {"", "", "", "args"});
    }
  }
  if (kwargs) {
    if (!kwargs->value.isGenericDict())
      throw Error(ErrorCode::kInvalidArgument, "parameter \"kwargs\": expected a dict", {"", "", "", "kwargs"});
    for (const auto& pair : kwargs->value.toGenericDict()) {
      if (!pair.key().isString())
        throw Error(ErrorCode::kInvalidArgument, "parameter \"kwargs\": expected text as keys", {"", "", "", "kwargs"});
      out.named.emplace_back(pair.key().toStringRef(), pair.value());
    }
  }
  return out;
}

std::unique_ptr<stator_value> call(StaticRuntime& runtime, const StaticMethod& method, const stator_value* args,
                                   const stator_value* kwargs, Arena& arena) {
  const Arguments arguments = read_arguments(args, kwargs);
  WarningsToLog warnings;
  runtime.call(method, arguments.positional, arguments.named, arena);
  return make_value(arena.result(), arena.lease());
}

c10::IValue hold_lease(const c10::IValue& value, const Lease& lease) {
  if (!lease) return value;
  // A value that came out of an arena is bound elsewhere: tied to its memory by a holder that travels with the tensors.
  if (value.isTensor()) return tie(value.toTensor(), lease);
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const auto& element : value.toTupleRef().elements()) elements.push_back(hold_lease(element, lease));
    return c10::ivalue::Tuple::createNamed(std::move(elements), value.toTupleRef().type());
  }
  if (value.isList()) {
    auto list = value.toList();
    c10::impl::GenericList out(list.elementType());
    for (size_t i = 0; i < list.size(); ++i) out.push_back(hold_lease(list.get(i), lease));
    return out;
  }
  if (value.isGenericDict()) {
    auto dict = value.toGenericDict();
    c10::impl::GenericDict out(dict.keyType(), dict.valueType());
    for (const auto& pair : dict) out.insert(pair.key(), hold_lease(pair.value(), lease));
    return out;
  }
  return value;
}

}  // namespace stator::capi
