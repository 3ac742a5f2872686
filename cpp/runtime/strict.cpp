#include "runtime/strict.h"

#include "graph/error.h"
#include "runtime/warm_up.h"

namespace stator {
namespace {

using Kind = SignatureStep::Kind;

const char* obstacle(Kind kind) {
  switch (kind) {
    case Kind::kCall:
      return "no bound kernel: LibTorch's own may allocate";
    case Kind::kGuard:
    case Kind::kLeave:
      return "what runs next depends on values";
    case Kind::kMake:
      return "its result may be held when the run is over, so it is allocated";
    case Kind::kPut:
    case Kind::kClear:
      return "its result is handed on as an object";
    case Kind::kKernel:
    case Kind::kTile:
      break;
  }
  return nullptr;
}

std::string line(const Plan& plan, int32_t number, const char* why) {
  const Node& node = *plan.nodes[number].node;
  std::string out = "\n  node " + plan.path + std::to_string(number) + ", " + node.display_name();
  if (const std::string source = node.source.str(); !source.empty()) out += ", " + source;
  return out + ": " + why;
}

// State that is not frozen may be other memory in the next run, so the short way is not taken.
std::string state_read(const Plan& plan) {
  std::string out;
  for (const Instruction& instruction : plan.code) {
    if (instruction.kind == InstructionKind::kLoadState)
      out += line(plan, instruction.node, "reads state that a method of the module may change");
  }
  return out;
}

// One line for each node in the way; "" if there is nothing. The last step hands the result over.
std::string obstacles(const SignaturePlan& plan) {
  const Plan& dynamic = *plan.dynamic;
  std::string out = state_read(dynamic);
  if (plan.only_kernels) return out;
  int32_t last = -1;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const SignatureStep& step = plan.steps[i];
    const char* why = obstacle(step.kind);
    if (!why || (step.kind == Kind::kPut && i + 1 == plan.steps.size())) continue;
    const int32_t number = step.pc < 0 ? -1 : dynamic.code[step.pc].node;
    if (number < 0 || number == last) continue;
    last = number;
    out += line(dynamic, number, why);
  }
  return out.empty()
             ? "\n  the result: it must be one tensor that the run computes, not an input, a constant or a container"
             : out;
}

[[noreturn]] void refuse(const StaticMethod& method, const std::string& why) {
  throw Error(ErrorCode::kUnsupported,
              "strict mode: method \"" + method.name() + "\" cannot run without allocating: " + why);
}

void check_declared(const StaticMethod& method) {
  for (size_t i = 0; i < method.parameters().size(); ++i) {
    const Parameter& parameter = method.parameters()[i];
    const InputSpec* spec = method.spec(static_cast<int32_t>(i));
    if (spec ? spec->is_fixed() : parameter.default_value.has_value()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "option \"strict\": option \"signature\" must give dtype and all sizes of input \"" + parameter.name +
                    "\"" + (spec ? ", not " + spec->str() : ""));
  }
}

std::shared_ptr<const SignaturePlan> plan_for(const StaticMethod& method, int threads) {
  for (auto& plan : method.signatures()->plans()) {
    if (plan->signature.threads() == threads) return plan;
  }
  return nullptr;
}

}  // namespace

void make_strict(const std::shared_ptr<StaticModule>& module, int threads) {
  const StaticMethod* method = module->find_method("forward");
  if (!method) throw Error(ErrorCode::kInvalidArgument, "option \"strict\": the module has no method \"forward\"");
  check_declared(*method);
  if (!plan_for(*method, threads)) {
    RuntimeOptions options;
    options.intra_op_threads = threads;
    warm_up_declared(module, *method, options);
  }
  const auto plan = plan_for(*method, threads);
  if (!plan) refuse(*method, "\n  no plan could be made of a run");
  if (const std::string in_the_way = obstacles(*plan); !in_the_way.empty()) refuse(*method, in_the_way);
}

}  // namespace stator
