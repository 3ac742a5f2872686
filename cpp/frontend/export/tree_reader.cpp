#include "frontend/export/tree_reader.h"

#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

constexpr int kDeepestTree = 64;

c10::IValue key_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return integer(json, "a key");
  if (json.is_number_float()) return json.get<double>();
  throw Error(ErrorCode::kUnsupported, std::string("a key of a dict is no text or number: ") + json.type_name());
}

std::vector<c10::IValue> keys_of(const Json& context) {
  std::vector<c10::IValue> keys;
  for (const Json& key : list(context, "keys of a dict")) keys.push_back(key_of(key));
  return keys;
}

void read_named_tuple(const std::string& type, const Json* fields, TreeSpec& out) {
  out.kind = TreeSpec::Kind::kNamedTuple;
  out.type_name = type;
  const Json* definition = fields ? optional_member(*fields, type.c_str()) : nullptr;
  if (!definition) return;
  for (const Json& name : list(member(*definition, "field_names"), "fields of a named tuple"))
    out.field_names.push_back(text(name, "a field"));
}

// Some classes write their context as JSON within a text, some as JSON, named tuples as a plain text.
Json context_of(const Json& json, const std::string& type) {
  const Json* context = optional_member(json, "context");
  if (!context) return {};
  return context->is_string() ? parse_json(context->get<std::string>(), "context of " + type) : *context;
}

// Containers that libraries register are dicts of their fields, if they say what their fields are.
void read_registered(const std::string& type, const Json& context, TreeSpec& out) {
  const bool two_lists = context.is_array() && context.size() == 2 && context[0].is_array() && context[1].is_array();
  const Json& names = two_lists ? context[0] : context;
  if (!names.is_array() || names.size() != out.children.size())
    throw Error(ErrorCode::kUnsupported, "inputs or results stand in a container of the class " + type +
                                             ", which does not say its fields; export a model that takes and gives "
                                             "tuples, lists and dicts");
  out.kind = TreeSpec::Kind::kDict;
  out.keys = keys_of(names);
}

TreeSpec read_node(const Json& json, const Json* fields, int depth) {
  if (depth > kDeepestTree) malformed("containers are nested too deeply");
  TreeSpec out;
  for (const Json& child : list(member(json, "children_spec"), "children_spec"))
    out.children.push_back(read_node(child, fields, depth + 1));
  const Json* type = optional_member(json, "type");
  if (!type) {
    if (!out.children.empty()) malformed("a leaf holds something");
    return out;
  }
  const std::string& name = text(*type, "type of a container");
  if (name == "collections.namedtuple") {
    read_named_tuple(text(member(json, "context"), "type of a named tuple"), fields, out);
  } else if (name == "builtins.tuple" || name.starts_with("torch.return_types.")) {
    out.kind = TreeSpec::Kind::kTuple;
  } else if (name == "builtins.list" || name == "collections.deque") {
    out.kind = TreeSpec::Kind::kList;
  } else if (name == "builtins.dict" || name == "collections.OrderedDict") {
    out.kind = TreeSpec::Kind::kDict;
    out.keys = keys_of(context_of(json, name));
  } else if (name == "collections.defaultdict") {
    out.kind = TreeSpec::Kind::kDict;
    out.keys = keys_of(member(context_of(json, name), "dict_context"));
  } else {
    read_registered(name, context_of(json, name), out);
  }
  const bool dict = out.kind == TreeSpec::Kind::kDict;
  if (dict && out.keys.size() != out.children.size()) malformed("a dict has not as many keys as values");
  if (!out.field_names.empty() && out.field_names.size() != out.children.size())
    malformed("a named tuple has not as many fields as elements");
  return out;
}

}  // namespace

size_t TreeSpec::leaf_count() const {
  if (kind == Kind::kLeaf) return 1;
  size_t count = 0;
  for (const TreeSpec& child : children) count += child.leaf_count();
  return count;
}

TreeSpec read_tree(const std::string& text, const Json* fields) {
  const Json json = parse_json(text, "the form of inputs or results");
  if (!json.is_array() || json.size() != 2) malformed("the form of inputs or results is no pair");
  if (integer(json[0], "version") != 1) malformed("the form of inputs or results is of an unknown version");
  return read_node(json[1], fields, 0);
}

}  // namespace stator::exported
