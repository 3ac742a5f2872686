#include "frontend/export/schema_reader.h"

#include <cmath>
#include <optional>

#include "frontend/export/arguments_reader.h"
#include "frontend/export/bare_words.h"
#include "frontend/export/tree_reader.h"
#include "frontend/json.h"
#include "graph/error.h"

namespace stator::exported {
namespace {

using namespace json;

// Version 7 is torch 2.5's. 8 lets bounds be absent and writes None and infinities another way; see also parse_symbols().
constexpr int64_t kOldestMajor = 7;
constexpr int64_t kMajor = 8;

// What nodes say of themselves is most of a file, and only their place in the source is wanted.
bool worth_reading(std::string_view parent, std::string_view key) {
  return parent != "metadata" || (key != "nn_module_stack" && key != "from_node" && key != "torch_fn");
}

void check_version(const Json& json) {
  const Json& version = member(json, "schema_version");
  const int64_t major = integer(member(version, "major"), "schema_version.major");
  if (major >= kOldestMajor && major <= kMajor) return;
  throw Error(ErrorCode::kUnsupported, "the program's schema is version " + std::to_string(major) +
                                           "; this version of Stator reads versions " + std::to_string(kOldestMajor) +
                                           " and " + std::to_string(kMajor) + " (torch 2.5 and later)");
}

[[noreturn]] void refuse_kind(const char* what, std::string_view kind) {
  throw Error(ErrorCode::kUnsupported,
              std::string("the program has ") + what + " of an unsupported kind: \"" + std::string(kind) + "\"");
}

InputSpec read_input_spec(const Json& json) {
  using Kind = InputSpec::Kind;
  const auto [kind, value] = alternative(json, "an input's specification");
  const auto target = [value = value](const char* name) { return text(member(*value, name), name); };
  if (kind == "user_input") return {};
  if (kind == "parameter") return {Kind::kParameter, target("parameter_name"), {}};
  if (kind == "buffer") return {Kind::kBuffer, target("buffer_name"), {}};
  if (kind == "tensor_constant") return {Kind::kTensorConstant, target("tensor_constant_name"), {}};
  if (kind == "custom_obj") return {Kind::kObject, target("custom_obj_name"), {}};
  if (kind == "token") return {Kind::kToken, "", {}};
  if (kind != "constant_input") refuse_kind("an input", kind);
  const Argument constant = read_argument(member(*value, "value"), 0);
  if (!constant.constant()) malformed("a constant input is no constant");
  return {Kind::kConstant, target("name"), *constant.constant()};
}

OutputSpec read_output_spec(const Json& json) {
  using Kind = OutputSpec::Kind;
  const auto [kind, value] = alternative(json, "an output's specification");
  const auto target = [value = value](const char* name) { return text(member(*value, name), name); };
  if (kind == "user_output" || kind == "loss_output") return {};
  if (kind == "buffer_mutation") return {Kind::kStateMutation, target("buffer_name")};
  if (kind == "parameter_mutation") return {Kind::kStateMutation, target("parameter_name")};
  if (kind == "user_input_mutation") return {Kind::kInputMutation, target("user_input_name")};
  if (kind == "token") return {Kind::kToken, ""};
  refuse_kind("an output", kind);
}

void read_signature(const Json& json, ExportedProgram& program) {
  for (const Json& spec : list(member(json, "input_specs"), "input_specs"))
    program.input_specs.push_back(read_input_spec(spec));
  for (const Json& spec : list(member(json, "output_specs"), "output_specs"))
    program.output_specs.push_back(read_output_spec(spec));
  if (program.input_specs.size() != program.graph.inputs.size() ||
      program.output_specs.size() != program.graph.outputs.size())
    malformed("the signature does not fit the graph");
}

// How the caller's arguments and the results stand in containers: the entry of the root module.
void read_calling(const Json& module, ExportedProgram& program) {
  const Json* calls = optional_member(module, "module_call_graph");
  if (!calls) return;
  const Json* fields = optional_member(module, "treespec_namedtuple_fields");
  for (const Json& entry : list(*calls, "module_call_graph")) {
    if (!text(member(entry, "fqn"), "fqn").empty()) continue;
    const Json* signature = optional_member(entry, "signature");
    if (!signature) continue;
    program.in_spec = read_tree(text(member(*signature, "in_spec"), "in_spec"), fields);
    program.out_spec = read_tree(text(member(*signature, "out_spec"), "out_spec"), fields);
    if (const Json* names = optional_member(*signature, "forward_arg_names")) {
      for (const Json& name : list(*names, "forward_arg_names"))
        program.argument_names.push_back(text(name, "a name of an argument"));
    }
    return;
  }
}

// nullopt if there is none.
std::optional<int64_t> bound(const Json& range, const char* name) {
  const Json* json = optional_member(range, name);
  if (!json || (!json->is_number_integer() && std::isinf(number(*json, name)))) return std::nullopt;
  return integer(*json, name);
}

void read_ranges(const Json& json, ExportedProgram& program) {
  if (!json.is_object()) malformed("range_constraints is no object");
  // Export takes sizes of 0 and 1 for special but hardly ever treats them so; "at least 2" is what it says when nobody said anything.
  constexpr int64_t kUsualLeast = 2;
  for (auto it = json.begin(); it != json.end(); ++it) {
    SizeRange& range = program.ranges[it.key()];
    const auto least = bound(*it, "min_val"), most = bound(*it, "max_val");
    if (least && *least != kUsualLeast) range.least = *least;
    if (most) range.most = *most;
  }
}

}  // namespace

ExportedProgram read_program(std::string_view text_of_program) {
  std::string rewritten;
  const Json json = parse_json(without_bare_words(text_of_program, rewritten), "the program", worth_reading);
  check_version(json);
  ExportedProgram program;
  const Json& module = member(json, "graph_module");
  program.graph = read_graph(member(module, "graph"));
  read_signature(member(module, "signature"), program);
  read_calling(module, program);
  read_ranges(member(json, "range_constraints"), program);
  if (const Json* guards = optional_member(json, "guards_code")) {
    for (const Json& guard : list(*guards, "guards_code")) program.guards.push_back(text(guard, "a guard"));
  }
  if (const Json* version = optional_member(json, "torch_version"))
    program.torch_version = text(*version, "torch_version");
  return program;
}

}  // namespace stator::exported
