#include "frontend/export/structure.h"

#include <algorithm>
#include <cctype>

#include "frontend/json.h"
#include "graph/named_tuple.h"
#include "graph/operator.h"

namespace stator::exported {
namespace {

using namespace json;

using TreeKind = TreeSpec::Kind;

bool all_same(const std::vector<c10::TypePtr>& types) {
  return std::all_of(types.begin(), types.end(), [&](const c10::TypePtr& type) { return *type == *types[0]; });
}

c10::TypePtr common(const std::vector<c10::TypePtr>& types) {
  if (types.empty()) return c10::TensorType::get();
  return all_same(types) ? types[0] : c10::TypePtr(c10::AnyType::get());
}

// my.module.Pair: a class's name must be a qualified one.
c10::QualifiedName class_name(const std::string& name) {
  std::string clean = name;
  for (char& c : clean) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
  }
  return c10::QualifiedName("__torch__." + clean.substr(clean.rfind('.') + 1));
}

c10::TypePtr tuple_type(const TreeSpec& spec, const std::vector<c10::TypePtr>& elements) {
  if (spec.field_names.empty()) return c10::TupleType::create(elements);
  return named_tuple_type(class_name(spec.type_name), spec.field_names, elements);
}

c10::TypePtr container_type(const TreeSpec& spec, const std::vector<c10::TypePtr>& children) {
  switch (spec.kind) {
    case TreeKind::kList:
      return c10::ListType::create(common(children));
    case TreeKind::kDict: {
      std::vector<c10::TypePtr> keys;
      for (const c10::IValue& key : spec.keys) keys.push_back(key.type());
      if (!keys.empty() && !all_same(keys)) malformed("the keys of a dict are of several types");
      return c10::DictType::create(keys.empty() ? c10::TypePtr(c10::StringType::get()) : keys[0], common(children));
    }
    default:
      return tuple_type(spec, children);
  }
}

const char* get_item(const c10::TypePtr& key) {
  switch (key->kind()) {
    case c10::TypeKind::IntType:
      return "aten::__getitem__.Dict_int";
    case c10::TypeKind::BoolType:
      return "aten::__getitem__.Dict_bool";
    case c10::TypeKind::FloatType:
      return "aten::__getitem__.Dict_float";
    default:
      return "aten::__getitem__.Dict_str";
  }
}

}  // namespace

c10::TypePtr type_of(const TreeSpec& spec, std::span<const c10::TypePtr>& leaves) {
  if (spec.kind == TreeKind::kLeaf) {
    if (leaves.empty()) malformed("inputs or results have fewer values than their form");
    const c10::TypePtr type = leaves.front();
    leaves = leaves.subspan(1);
    return type;
  }
  std::vector<c10::TypePtr> children;
  for (const TreeSpec& child : spec.children) children.push_back(type_of(child, leaves));
  return container_type(spec, children);
}

std::vector<Value*> take_apart(Builder& builder, const TreeSpec& spec, Value* value,
                               std::span<const c10::TypePtr>& leaf_types) {
  if (spec.kind == TreeKind::kLeaf) {
    leaf_types = leaf_types.subspan(1);
    return {value};
  }
  std::vector<c10::TypePtr> types;
  std::span<const c10::TypePtr> ahead = leaf_types;
  for (const TreeSpec& child : spec.children) types.push_back(type_of(child, ahead));
  std::vector<Value*> children;
  if (spec.kind == TreeKind::kDict) {
    for (size_t i = 0; i < types.size(); ++i)
      children.push_back(
          builder.call(get_item(spec.keys[i].type()), {value, builder.constant(spec.keys[i])}, types[i]));
  } else {
    const Opcode opcode = spec.kind == TreeKind::kList ? Opcode::kListUnpack : Opcode::kTupleUnpack;
    Node* node = builder.graph().create(opcode, {value});
    for (const c10::TypePtr& type : types) builder.graph().add_output(node, type);
    children = builder.place(node)->outputs;
  }
  std::vector<Value*> leaves;
  for (size_t i = 0; i < children.size(); ++i) {
    const std::vector<Value*> more = take_apart(builder, spec.children[i], children[i], leaf_types);
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  return leaves;
}

Value* put_together(Builder& builder, const TreeSpec& spec, std::span<Value* const>& leaves) {
  if (spec.kind == TreeKind::kLeaf) {
    if (leaves.empty()) malformed("the program has fewer results than their form");
    Value* leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<Value*> elements;
  std::vector<c10::TypePtr> types;
  for (const TreeSpec& child : spec.children) {
    Value* element = put_together(builder, child, leaves);
    types.push_back(element->type);
    if (spec.kind == TreeKind::kDict) elements.push_back(builder.constant(spec.keys[types.size() - 1]));
    elements.push_back(element);
  }
  const Opcode opcode = spec.kind == TreeKind::kDict   ? Opcode::kDictConstruct
                        : spec.kind == TreeKind::kList ? Opcode::kListConstruct
                                                       : Opcode::kTupleConstruct;
  Node* node = builder.graph().create(opcode, std::move(elements));
  builder.graph().add_output(node, container_type(spec, types));
  return builder.place(node)->output();
}

void describe_containers(const TreeSpec& spec, size_t parameter, const std::vector<c10::IValue>& path,
                         InputContract& contract, std::vector<std::vector<c10::IValue>>& ways) {
  if (spec.kind == TreeKind::kLeaf) {
    ways.push_back(path);
    return;
  }
  contract.containers.push_back({parameter, path, spec.kind == TreeKind::kDict, spec.keys, spec.children.size()});
  for (size_t i = 0; i < spec.children.size(); ++i) {
    std::vector<c10::IValue> way = path;
    way.push_back(spec.kind == TreeKind::kDict ? spec.keys[i] : c10::IValue(static_cast<int64_t>(i)));
    describe_containers(spec.children[i], parameter, way, contract, ways);
  }
}

}  // namespace stator::exported
