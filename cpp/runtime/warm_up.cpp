#include "runtime/warm_up.h"

#include <ATen/ops/zeros.h>

#include "graph/error.h"
#include "runtime/runtime.h"

namespace stator {
namespace {

c10::IValue example_of(const InputSpec& spec) {
  if (spec.value) return *spec.value;
  if (!spec.is_fixed()) {
    throw Error(ErrorCode::kInvalidArgument, "input \"" + spec.name + "\" is declared as " + spec.str() +
                                                 ": a plan needs its dtype and all of its sizes");
  }
  return at::zeros(*spec.shape, *spec.dtype);
}

void run_once(const std::shared_ptr<StaticModule>& module, const StaticMethod& method,
              const std::vector<InputSpec>& specs, RuntimeOptions options) {
  options.warms_up = true;
  options.state = StateSharing::kPrivate;
  std::vector<std::pair<std::string, c10::IValue>> inputs;
  for (const InputSpec& spec : specs) inputs.emplace_back(spec.name, example_of(spec));
  StaticRuntime runtime(module, options);
  Arena arena(module);
  runtime.call(method, {}, inputs, arena);
}

}  // namespace

void warm_up(const std::shared_ptr<StaticModule>& module, const StaticMethod& method, std::string_view signature,
             RuntimeOptions options) {
  run_once(module, method, parse_signature(signature, "signature"), std::move(options));
}

void warm_up_declared(const std::shared_ptr<StaticModule>& module, const StaticMethod& method, RuntimeOptions options) {
  std::vector<InputSpec> specs;
  for (size_t i = 0; i < method.parameters().size(); ++i) {
    if (const InputSpec* spec = method.spec(static_cast<int32_t>(i))) specs.push_back(*spec);
  }
  run_once(module, method, specs, std::move(options));
}

}  // namespace stator
