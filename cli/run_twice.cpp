#include "run_twice.h"

#include "progress.h"

namespace cli {

void run_twice(stator_module* module, const stator_method* method, const InputOptions& options,
               const stator_options* settings) {
  const Progress progress("running twice");
  const std::vector<Input> inputs = inputs_of(module, method);
  const CallArguments call = call_arguments(inputs, read_arguments(inputs, options));
  const Runtime runtime = make<Runtime>(stator_runtime_create, module, settings);
  const Arena arena = make<Arena>(stator_arena_create, module, nullptr);
  for (int run = 0; run < 2; ++run)
    make<ValuePtr>(stator_runtime_call, runtime.get(), method, call.args.get(), call.kwargs.get(), arena.get());
}

}  // namespace cli
