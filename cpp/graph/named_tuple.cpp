#include "graph/named_tuple.h"

namespace stator {

// The names of the fields are in a schema, whose types are looked at once, when the type is made; the elements' own types are elsewhere.
c10::TupleTypePtr named_tuple_type(const std::optional<c10::QualifiedName>& name,
                                   const std::vector<std::string>& fields, const std::vector<c10::TypePtr>& types) {
  const std::vector<c10::TypePtr> stand_ins(types.size(), c10::TensorType::get());
  return c10::TupleType::createNamed(name, fields, stand_ins)->withContained(types)->expect<c10::TupleType>();
}

}  // namespace stator
