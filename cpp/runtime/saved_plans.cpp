#include "runtime/saved_plans.h"

#include "graph/dtype.h"
#include "graph/error.h"
#include "graph/log.h"
#include "plan/saved_record.h"
#include "runtime/warm_up.h"

namespace stator {
namespace {

std::string text_of(const SignatureEntry& entry) {
  switch (entry.kind) {
    case SignatureEntry::Kind::kTensor: {
      std::string sizes;
      for (int64_t size : entry.tensor.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
      return std::string(": ") + dtype_name(entry.tensor.dtype) + "[" + sizes + "]";
    }
    case SignatureEntry::Kind::kInt:
      return " = " + std::to_string(entry.number);
    case SignatureEntry::Kind::kBool:
      return entry.number ? " = true" : " = false";
    case SignatureEntry::Kind::kNone:
      return " = none";
    case SignatureEntry::Kind::kOther:
      break;
  }
  return "";
}

// As warm-up takes it. What a signature says nothing of is left to its default.
std::string text_of(const StaticMethod& method, const InputSignature& signature) {
  std::string out;
  for (size_t i = 0; i < method.parameters().size(); ++i) {
    const std::string value = text_of(signature.entries()[i]);
    if (!value.empty()) out += (out.empty() ? "" : ", ") + method.parameters()[i].name + value;
  }
  return out;
}

bool is_declared(const StaticMethod& method, const InputSignature& signature) {
  for (size_t i = 0; i < method.parameters().size(); ++i) {
    const InputSpec* spec = method.spec(static_cast<int32_t>(i));
    const SignatureEntry& entry = signature.entries()[i];
    if (!spec) continue;
    if (!spec->is_fixed()) return false;
    const bool same = spec->value
                          ? entry.matches(*spec->value)
                          : entry == SignatureEntry{.kind = SignatureEntry::Kind::kTensor,
                                                    .tensor = TensorMeta::contiguous(*spec->dtype, *spec->shape)};
    if (!same) return false;
  }
  return true;
}

bool restore(const StaticMethod& method, const SavedPlan& saved) {
  const auto record = read_record(method.plan(), saved.record);
  if (!record) return false;
  // A strict method runs on what was declared at load alone.
  if (method.strict() && !is_declared(method, record->signature)) return true;
  try {
    SignatureCache& cache = *method.signatures();
    cache.add(make_signature_plan(method.plan(), record->signature, record->recording, cache.packed()));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool make_anew(const std::shared_ptr<StaticModule>& module, const StaticMethod& method, const SavedPlan& saved) {
  if (method.strict()) return false;  // will be made by itself
  RuntimeOptions options;
  options.intra_op_threads = saved.threads;
  try {
    warm_up(module, method, saved.signature, options);
    return true;
  } catch (const std::exception& error) {
    log(LogLevel::kWarning, "no plan could be made anew for \"" + saved.signature + "\": " + error.what());
    return false;
  }
}

}  // namespace

SavedPlans saved_plans(const StaticModule& module, Maker here) {
  SavedPlans out{.maker = std::move(here), .plans = {}, .weights = module.packed().all()};
  for (const auto& method : module.methods()) {
    if (!method->signatures()) continue;
    for (const auto& plan : method->signatures()->plans())
      out.plans.push_back({method->name(), text_of(*method, plan->signature), plan->signature.threads(), plan->record});
  }
  return out;
}

void restore_plans(const std::shared_ptr<StaticModule>& module, const Maker& here) {
  const std::optional<SavedPlans> taken = module->take_saved_plans();
  if (!taken) return;
  const SavedPlans& saved = *taken;
  PlannedFile file{.maker = saved.maker};
  if (saved.maker != here) file.outdated = "made by " + saved.maker.str() + "; this is " + here.str();
  if (file.outdated.empty()) {
    for (const SavedWeight& each : saved.weights) module->packed().add(each.weight, each.form, each.packed);
  } else {
    log(LogLevel::kWarning, "\"" + module->name() + "\": its plans are made anew: " + file.outdated +
                                "; convert the model anew to save the time");
  }
  // The last used comes last, as in a cache that has seen them.
  for (auto plan = saved.plans.rbegin(); plan != saved.plans.rend(); ++plan) {
    const StaticMethod* method = module->find_method(plan->method);
    if (!method || !method->signatures()) continue;
    if (file.outdated.empty() && restore(*method, *plan)) {
      ++file.restored;
    } else if (make_anew(module, *method, *plan)) {
      ++file.made_anew;
    }
  }
  module->set_planned_file(std::move(file));
}

}  // namespace stator
