#include "runtime/module.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <unordered_set>

#include "passes/pipeline.h"
#include "plan/known_sizes.h"
#include "values/deep_copy.h"

namespace stator {

StaticMethod::StaticMethod(Method method, const ModuleOptions& options, int32_t index,
                           std::shared_ptr<PackedWeights> packed, std::shared_ptr<MemoryBudget> budget)
    : method_(std::move(method)), index_(index), input_check_(method_.contract, method_.parameters) {
  if (!method_.graph) return;
  plan_ = make_dynamic_plan(*method_.graph, options.planner, options.signature_plans ? packed : nullptr);
  if (!options.signature_plans) return;
  const auto when = options.plans_at_once ? SignatureCache::When::kAtOnce : SignatureCache::When::kSecondSight;
  signatures_ = std::make_unique<SignatureCache>(std::move(packed), std::move(budget), when);
}

void StaticMethod::trim() {
  if (strict_) return;
  if (signatures_) signatures_->clear();
  if (plan_) plan_->forget_sizes();
}

const Plan& StaticMethod::plan() const {
  if (!plan_) throw *method_.unsupported;
  return *plan_;
}

const Graph& StaticMethod::graph() const {
  if (!method_.graph) throw *method_.unsupported;
  return *method_.graph;
}

void StaticMethod::declare(const std::vector<InputSpec>& specs, bool strict) {
  strict_ = strict;
  specs_.resize(method_.parameters.size());
  declared_.assign(method_.parameters.size(), false);
  for (const InputSpec& spec : specs) {
    auto it = std::find_if(method_.parameters.begin(), method_.parameters.end(),
                           [&](const Parameter& p) { return p.name == spec.name; });
    if (it == method_.parameters.end()) {
      std::string known;
      for (const Parameter& parameter : method_.parameters)
        known += (known.empty() ? "\"" : ", \"") + parameter.name + "\"";
      throw Error(ErrorCode::kInvalidArgument, "option \"signature\": method \"" + name() + "\" has no input \"" +
                                                   spec.name + "\"; it has " + known);
    }
    auto at = it - method_.parameters.begin();
    specs_[at] = spec;
    declared_[at] = true;
  }
  if (plan_) learn_sizes(*plan_, Aliases(*method_.graph), declared_tensors());
}

// Of those whose dtype and shape are fixed.
std::vector<at::Tensor> StaticMethod::declared_tensors() const {
  std::vector<at::Tensor> out(specs_.size());
  for (size_t i = 0; i < specs_.size(); ++i) {
    const InputSpec& spec = specs_[i];
    if (!declared_[i] || spec.value || !spec.is_fixed()) continue;
    out[i] = at::empty(*spec.shape, at::TensorOptions(*spec.dtype).device(at::kMeta));
  }
  return out;
}

namespace {

// Plans only make runs faster; they must not take the memory that runs need.
int64_t share_of_plans(int64_t limit) { return limit > 0 ? std::max<int64_t>(limit / 4, 1) : 0; }

}  // namespace

StaticModule::StaticModule(Program program, const ModuleOptions& options)
    : budget_(std::make_shared<MemoryBudget>("module", options.memory_limit)),
      plan_budget_(std::make_shared<MemoryBudget>("module's plans", share_of_plans(options.memory_limit), budget_)),
      packed_(std::make_shared<PackedWeights>(plan_budget_)) {
  if (!program.saved) optimize(program);
  saved_plans_ = std::move(program.saved);
  format_ = program.format;
  name_ = options.name;
  training_ = program.training;
  state_slots_ = std::move(program.slots);
  keep_alive_ = std::move(program.keep_alive);
  for (Method& method : program.methods) {
    methods_.push_back(std::make_unique<StaticMethod>(std::move(method), options, static_cast<int32_t>(methods_.size()),
                                                      packed_, plan_budget_));
  }
  if (!options.signature.empty()) {
    auto specs = parse_signature(options.signature, "option \"signature\"");
    auto it =
        std::find_if(methods_.begin(), methods_.end(), [](const auto& method) { return method->name() == "forward"; });
    if (it == methods_.end())
      throw Error(ErrorCode::kInvalidArgument, "option \"signature\": the module has no method \"forward\"");
    (*it)->declare(specs, options.strict);
  }
}

const StaticMethod* StaticModule::find_method(const std::string& name) const {
  for (const auto& method : methods_) {
    if (method->name() == name) return method.get();
  }
  return nullptr;
}

int64_t StaticModule::weight_bytes() const {
  std::unordered_set<const void*> seen;
  int64_t bytes = 0;
  const auto count = [&](const c10::IValue& value) {
    value.visit([&](const c10::IValue& inner) {
      if (inner.isTensor() && inner.toTensor().defined() && inner.toTensor().has_storage()) {
        const auto& storage = inner.toTensor().storage();
        if (seen.insert(storage.unsafeGetStorageImpl()).second) bytes += static_cast<int64_t>(storage.nbytes());
      }
      return false;
    });
  };
  for (const auto& method : methods_) {
    try {
      for (const c10::IValue& constant : method->plan().constants) count(constant);
    } catch (const Error&) {
      // A method that cannot run holds no constants.
    }
  }
  for (const StateSlot& slot : state_slots_) count(slot.value);
  return bytes;
}

void StaticModule::trim() {
  for (const auto& method : methods_) method->trim();
  packed_->trim();
}

int64_t StaticModule::plan_evictions() const {
  int64_t count = 0;
  for (const auto& method : methods_) {
    if (method->signatures()) count += method->signatures()->evictions();
  }
  return count;
}

std::shared_ptr<State> StaticModule::make_state() const {
  auto state = std::make_shared<State>();
  std::vector<c10::IValue> initial;
  initial.reserve(state_slots_.size());
  for (const StateSlot& slot : state_slots_) initial.push_back(slot.value);
  state->slots = deep_copy(initial);
  return state;
}

std::shared_ptr<State> StaticModule::shared_state() {
  std::lock_guard lock(mutex_);
  if (!shared_state_) shared_state_ = make_state();
  return shared_state_;
}

}  // namespace stator
