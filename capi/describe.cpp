#include "describe.h"

#include <ATen/Version.h>
#include <ATen/cpu/Utils.h>
#include <c10/util/strides.h>
#include <torch/headeronly/version.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "front/services.h"
#include "graph/printer.h"
#include "memory/storage_groups.h"

namespace stator::capi {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestDefault = 200;  // characters

// Sizes that are not fixed are null.
Json describe_sizes(const std::vector<SizeExpression>& sizes) {
  Json out = Json::array();
  for (const SizeExpression& size : sizes) out.push_back(size.is_number() ? Json(size.number) : Json());
  return out;
}

// What is known of those: equal names are equal sizes.
Json describe_dynamic(const InputLeaf& leaf, const InputContract& contract) {
  Json out = Json::array();
  for (size_t i = 0; i < leaf.sizes.size(); ++i) {
    const SizeExpression& size = leaf.sizes[i];
    if (size.is_number()) continue;
    Json entry{{"dimension", i}, {"size", size.str()}};
    auto range = contract.ranges.find(size.symbol);
    if (size.is_symbol() && range != contract.ranges.end()) {
      entry["least"] = range->second.least;
      if (range->second.most != SizeRange{}.most) entry["most"] = range->second.most;
    }
    out.push_back(entry);
  }
  return out;
}

Json describe_input(const StaticMethod& method, int32_t index) {
  const Parameter& parameter = method.parameters()[index];
  Json out{{"name", parameter.name}, {"type", parameter.type->annotation_str()}};
  if (parameter.default_value) out["default"] = print(*parameter.default_value, kLongestDefault);
  if (const InputSpec* spec = method.spec(index)) {
    if (spec->dtype) out["dtype"] = dtype_name(*spec->dtype);
    if (spec->shape) {
      Json shape = Json::array();
      for (int64_t size : *spec->shape) shape.push_back(size < 0 ? Json() : Json(size));
      out["shape"] = shape;
    }
  } else if (const InputLeaf* expected = method.input_check().tensor(static_cast<size_t>(index))) {
    out["dtype"] = dtype_name(*expected->dtype);
    out["shape"] = describe_sizes(expected->sizes);
    const Json dynamic = describe_dynamic(*expected, method.input_check().contract());
    if (!dynamic.empty()) out["dynamic"] = dynamic;
  }
  out["written"] = method.writes_input(index);
  return out;
}

Json describe_outputs(const c10::TypePtr& type) {
  Json out = Json::array();
  if (!type) return out;
  const auto* tuple = type->castRaw<c10::TupleType>();
  if (!tuple) {
    out.push_back({{"type", type->annotation_str()}});
    return out;
  }
  for (size_t i = 0; i < tuple->elements().size(); ++i) {
    Json entry{{"type", tuple->elements()[i]->annotation_str()}};
    if (tuple->schema()) entry["name"] = tuple->schema()->arguments()[i].name();
    out.push_back(entry);
  }
  return out;
}

Json describe_method(const StaticMethod& method) {
  Json inputs = Json::array();
  for (size_t i = 0; i < method.parameters().size(); ++i)
    inputs.push_back(describe_input(method, static_cast<int32_t>(i)));
  Json out{{"name", method.name()},
           {"inputs", inputs},
           {"outputs", describe_outputs(method.result())},
           {"output_count", method.output_count()}};
  try {
    method.plan();
  } catch (const Error& error) {
    out["unsupported"] = error.message;
  }
  return out;
}

Json value_names(const std::vector<Value*>& values) {
  Json out = Json::array();
  for (const Value* value : values) out.push_back(value_name(value));
  return out;
}

std::string signature_text(const SignatureEntry& entry) {
  switch (entry.kind) {
    case SignatureEntry::Kind::kTensor: {
      std::ostringstream out;
      out << dtype_name(entry.tensor.dtype) << at::IntArrayRef(entry.tensor.sizes);
      if (entry.tensor.strides != c10::contiguous_strides(entry.tensor.sizes))
        out << " strides " << at::IntArrayRef(entry.tensor.strides);
      return out.str();
    }
    case SignatureEntry::Kind::kInt:
      return std::to_string(entry.number);
    case SignatureEntry::Kind::kBool:
      return entry.number ? "True" : "False";
    case SignatureEntry::Kind::kNone:
      return "None";
    case SignatureEntry::Kind::kOther:
      return "any";
  }
  return "";
}

const char* step_kind(SignatureStep::Kind kind) {
  using Kind = SignatureStep::Kind;
  switch (kind) {
    case Kind::kTile:
    case Kind::kKernel:
      return "kernel";
    case Kind::kCall:
      return "call";
    case Kind::kPut:
      return "put";
    case Kind::kClear:
      return "clear";
    case Kind::kMake:
      return "allocate";
    case Kind::kGuard:
      return "guard";
    case Kind::kLeave:
      return "leave";
  }
  return "";
}

// The nodes whose work a step does, by their numbers in the dynamic plan.
Json describe_steps(const SignaturePlan& plan) {
  Json steps = Json::array();
  for (const SignatureStep& step : plan.steps) {
    Json nodes = Json::array();
    const auto add = [&](int32_t pc) {
      if (pc >= 0 && plan.dynamic->code[pc].node >= 0) nodes.push_back(std::to_string(plan.dynamic->code[pc].node));
    };
    for (int32_t pc : step.joined) add(pc);
    add(step.pc);
    steps.push_back({{"kind", step_kind(step.kind)}, {"nodes", nodes}});
  }
  return steps;
}

// Inputs, then the state that the method reads.
Json describe_signatures(const StaticMethod& method) {
  Json out = Json::array();
  if (!method.signatures()) return out;
  for (const auto& plan : method.signatures()->plans()) {
    Json inputs = Json::array();
    for (const SignatureEntry& entry : plan->signature.entries()) inputs.push_back(signature_text(entry));
    out.push_back({{"inputs", inputs},
                   {"bound_nodes", plan->bound_count},
                   {"steps", describe_steps(*plan)},
                   {"workspace_bytes", plan->workspace_bytes},
                   {"live_bytes", plan->live_bytes},
                   {"group_bytes", plan->group_bytes}});
  }
  return out;
}

// A fork's nodes stand behind it.
void describe_nodes(const Plan& plan, int depth, Json& nodes) {
  size_t forks = 0;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    nodes.push_back({{"node", plan.path + std::to_string(i)},
                     {"operator", node.node->display_name()},
                     {"kind", node_kind(node)},
                     {"why", node.implementation.reason},
                     {"source", node.node->source.str()},
                     {"depth", depth + node.depth},
                     {"inputs", value_names(node.node->inputs)},
                     {"outputs", value_names(node.node->outputs)}});
    if (node.node->opcode == Opcode::kFork) describe_nodes(*plan.forks[forks++], depth + node.depth + 1, nodes);
  }
}

}  // namespace

const char* node_kind(const PlanNode& node, bool bound) {
  if (bound) return "bound";
  if (node.control) return "control";
  switch (node.implementation.kind) {
    case ImplKind::kOut:
      return "out";
    case ImplKind::kNative:
      return "native";
    case ImplKind::kFallback:
      return "fallback";
  }
  return "";
}

const char* planner_name(PlannerKind kind) {
  switch (kind) {
    case PlannerKind::kStandard:
      return "standard";
    case PlannerKind::kNaive:
      return "naive";
    case PlannerKind::kNone:
      return "none";
  }
  return "";
}

std::string value_name(const Value* value) {
  return "%" + (value->name.empty() ? std::to_string(value->id) : value->name);
}

std::string describe_module(const StaticModule& module) {
  Json state = Json::array();
  for (const StateSlot& slot : module.state_slots())
    state.push_back({{"name", slot.name}, {"type", slot.type->annotation_str()}});
  Json methods = Json::array();
  for (const auto& method : module.methods()) methods.push_back(describe_method(*method));
  Json out{{"format", module.format()},
           {"training", module.training()},
           {"weights_bytes", module.weight_bytes()},
           {"memory_bytes", module.budget()->used()},
           {"memory_limit_bytes", module.budget()->limit() ? Json(module.budget()->limit()) : Json()},
           {"state", state},
           {"methods", methods}};
  if (const auto& planned = module.planned_file()) {
    out["planned"] = {{"stator", planned->maker.stator},
                      {"torch", planned->maker.torch},
                      {"cpu_capability", planned->maker.cpu},
                      {"restored", planned->restored},
                      {"made_anew", planned->made_anew},
                      {"outdated", planned->outdated.empty() ? Json() : Json(planned->outdated)}};
  }
  return out.dump(2);
}

std::string describe_plan(const StaticMethod& method) {
  const Plan& plan = method.plan();
  Json nodes = Json::array();
  describe_nodes(plan, 0, nodes);
  const ArenaLayout in_workspace = plan.layout(Place::kWorkspace);
  const ArenaLayout in_arena = plan.layout(Place::kArena);
  Json buffers = Json::array();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    const bool workspace = tensor.place == Place::kWorkspace;
    buffers.push_back({{"value", value_name(tensor.value)},
                       {"place", workspace ? "workspace" : "arena"},
                       {"first", tensor.lifetime.first},
                       {"last", tensor.lifetime.last},
                       {"group", tensor.group},
                       {"offset", (workspace ? in_workspace : in_arena).offsets[tensor.index]},
                       {"bytes", plan.observed[i].load(std::memory_order_relaxed)}});
  }
  Json out{{"method", method.name()},
           {"plan", "dynamic"},
           {"memory_planner", planner_name(plan.planner)},
           {"nodes", nodes},
           {"buffers", buffers},
           {"workspace_bytes", in_workspace.bytes},
           {"output_bytes", in_arena.bytes},
           {"signatures", describe_signatures(method)}};
  return out.dump(2);
}

std::string describe_build() {
  const stator_front_services& front = *stator_core_services();
  std::string loaded = std::to_string(front.torch_version[0]) + "." + std::to_string(front.torch_version[1]) + "." +
                       std::to_string(front.torch_version[2]);
  Json out{{"stator", front.version},
           {"abi", std::to_string(STATOR_ABI_MAJOR) + "." + std::to_string(STATOR_ABI_MINOR)},
           {"torch_built", std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR) + "." +
                               std::to_string(TORCH_VERSION_PATCH)},
           {"torch_loaded", loaded},
           {"torch_path", front.torch_path},
           {"cpu_capability", at::get_cpu_capability()},
           {"compiler", __VERSION__}};
  return out.dump(2);
}

}  // namespace stator::capi
