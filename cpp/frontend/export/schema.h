// What a torch.export archive says of its program, as plain structs. The names are those of torch/_export/serde/schema.py, schema major 8.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/input_contract.h"
#include "graph/size_expression.h"

namespace stator::exported {

struct ExportedGraph;
struct Argument;

// A value that a node or the graph itself brings: a tensor, a number that is computed at run time, an object of a class in C++.
struct Reference {
  std::string name;
  c10::TypePtr type;
};

using ArgumentList = std::vector<Argument>;

// What a node is given, or makes. Enumerations are LibTorch's numbers already, devices are the CPU.
struct Argument {
  std::variant<c10::IValue, Reference, ArgumentList, std::shared_ptr<const ExportedGraph>> is;

  const c10::IValue* constant() const { return std::get_if<c10::IValue>(&is); }
  const Reference* reference() const { return std::get_if<Reference>(&is); }
  const ArgumentList* list() const { return std::get_if<ArgumentList>(&is); }
  const ExportedGraph* graph() const {
    auto* found = std::get_if<std::shared_ptr<const ExportedGraph>>(&is);
    return found ? found->get() : nullptr;
  }
};

struct NamedArgument {
  std::string name;  // in the operator's schema; "" for higher-order operators
  Argument value;
};

struct ExportedNode {
  std::string target;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;  // references, lists of them, None
  SourceLocation source;
};

struct TensorMeta {
  at::ScalarType dtype = at::kFloat;
  at::Layout layout = at::kStrided;
  std::vector<SizeExpression> sizes;
  std::vector<SizeExpression> strides;
  SizeExpression storage_offset;
};

struct ExportedGraph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<ExportedNode> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, SizeExpression> ints;
};

struct InputSpec {
  // A token stands for the order of side effects, which is the order of the nodes anyway.
  enum class Kind : uint8_t { kUser, kConstant, kParameter, kBuffer, kTensorConstant, kObject, kToken };
  Kind kind = Kind::kUser;
  std::string target;    // path of the parameter, buffer, constant or object
  c10::IValue constant;  // kConstant
};

struct OutputSpec {
  enum class Kind : uint8_t { kUser, kStateMutation, kInputMutation, kToken };
  Kind kind = Kind::kUser;
  std::string target;  // path of the state, name of the graph's input
};

// How values stand in containers: torch.utils._pytree's TreeSpec.
struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kTuple, kList, kDict, kNamedTuple };
  Kind kind = Kind::kLeaf;
  std::vector<c10::IValue> keys;         // kDict
  std::vector<std::string> field_names;  // kNamedTuple
  std::string type_name;                 // kNamedTuple
  std::vector<TreeSpec> children;

  size_t leaf_count() const;
};

struct ExportedProgram {
  ExportedGraph graph;
  std::vector<InputSpec> input_specs;    // one per input of the graph
  std::vector<OutputSpec> output_specs;  // one per output of the graph
  std::optional<TreeSpec> in_spec;       // ((args...), {kwargs...})
  std::optional<TreeSpec> out_spec;
  std::vector<std::string> argument_names;  // of positional arguments, then keywords; may be empty
  std::map<std::string, SizeRange> ranges;
  std::vector<std::string> guards;  // Python expressions over L['argument']
  std::string torch_version;
};

}  // namespace stator::exported
