#include "plan/observation.h"

#include "plan/bound_call.h"

namespace stator {

Observation::Observation(const Plan& plan) : code_(plan.code), watchers_(code_.size()), seen_(code_.size()) {
  for (size_t pc = 0; pc < code_.size(); ++pc) {
    Instruction& instruction = code_[pc];
    if (instruction.kind != InstructionKind::kCall || !bindable(*plan.nodes[instruction.node].node)) continue;
    seen_[pc].resize(instruction.input_count);
    watchers_[pc] = {instruction.run, instruction.data, &seen_[pc]};
    instruction.run = watch;
    instruction.data = &watchers_[pc];
  }
}

void Observation::watch(const Call& call) {
  const auto& watcher = call.data<Watcher>();
  for (int i = 0; i < call.input_count(); ++i) {
    auto& seen = (*watcher.inputs)[i];
    seen.reset();
    if (is_plain(call.in(i))) seen = TensorMeta::of(call.tensor(i));
  }
  watcher.run(call.with(watcher.data));
}

const TensorMeta* Observation::seen(size_t pc, int32_t input) const {
  const auto& inputs = seen_[pc];
  return inputs.empty() || !inputs[input] ? nullptr : &*inputs[input];
}

}  // namespace stator
