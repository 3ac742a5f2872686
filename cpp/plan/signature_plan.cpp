#include "plan/signature_plan.h"

#include <unordered_map>

namespace stator {
namespace {

class Builder {
 public:
  Builder(const Plan& dynamic, InputSignature signature, const Observation& observation)
      : dynamic_(dynamic),
        observation_(observation),
        plan_(std::make_shared<SignaturePlan>(SignaturePlan{&dynamic, std::move(signature), dynamic.code, {}})) {}

  std::shared_ptr<SignaturePlan> build() {
    learn_constants();
    learn_inputs();
    for (size_t pc = 0; pc < plan_->code.size(); ++pc) bind(pc);
    find_escapes();
    return std::move(plan_);
  }

 private:
  void learn_constants() {
    for (size_t slot = 0; slot < dynamic_.constants.size(); ++slot) {
      if (!is_plain(dynamic_.constants[slot])) continue;
      const at::Tensor& tensor = dynamic_.constants[slot].toTensor();
      known_[static_cast<int32_t>(slot)] = {TensorMeta::of(tensor), ValuePlace::kConstant, tensor.const_data_ptr(), -1};
    }
  }

  void learn_inputs() {
    for (int32_t i = 0; i < dynamic_.input_count; ++i) {
      const SignatureEntry& entry = plan_->signature.entries()[i];
      if (entry.kind != SignatureEntry::Kind::kTensor) continue;
      const int32_t slot = dynamic_.first_input + i;
      // An operator that writes an input may also resize it.
      const auto place = dynamic_.writes_input[i] ? ValuePlace::kSlot : ValuePlace::kInput;
      known_[slot] = {entry.tensor, place, nullptr, slot};
    }
  }

  std::optional<ValueDescriptor> describe(size_t pc, int32_t input, int32_t slot) const {
    if (auto found = known_.find(slot); found != known_.end()) return found->second;
    const TensorMeta* seen = observation_.seen(pc, input);
    if (!seen) return std::nullopt;
    return ValueDescriptor{*seen, ValuePlace::kSlot, nullptr, slot};
  }

  std::optional<BoundCall> bound_call(size_t pc) const {
    const Instruction& instruction = plan_->code[pc];
    const Node& node = *dynamic_.nodes[instruction.node].node;
    if (!bindable(node)) return std::nullopt;
    std::vector<std::optional<ValueDescriptor>> described;
    KnownArguments arguments;
    for (int32_t i = 0; i < instruction.input_count; ++i) {
      described.push_back(describe(pc, i, dynamic_.operands[instruction.operands + i]));
      arguments.constants.push_back(constant_of(node.input(i)));
    }
    for (const auto& value : described) arguments.tensors.push_back(value ? &*value : nullptr);
    return bind_node(node, arguments);
  }

  void bind(size_t pc) {
    Instruction& instruction = plan_->code[pc];
    if (instruction.kind != InstructionKind::kCall) return;
    const int32_t result = instruction.operands + instruction.input_count;
    const int32_t planned = instruction.output_count == 1 ? dynamic_.buffer_of_operand[result] : -1;
    if (planned < 0) return;  // its memory cannot be fixed
    std::optional<BoundCall> call = bound_call(pc);
    if (!call) return;
    const int32_t slot = dynamic_.operands[result];
    const PlannedTensor& tensor = dynamic_.tensors[planned];
    call->output.place = ValuePlace::kPlanned;
    call->output.index = planned;
    make_room(planned, call->output.meta.bytes());
    known_[slot] = call->output;
    if (tensor.written) known_[slot] = {call->output.meta, ValuePlace::kSlot, nullptr, slot};
    instruction.kind = InstructionKind::kBound;
    instruction.index = static_cast<int32_t>(plan_->calls.size());
    plan_->calls.push_back(std::move(*call));
  }

  void make_room(int32_t planned, int64_t bytes) const {
    PlannedBuffer buffer;
    buffer.observed = &dynamic_.observed[planned];
    buffer.version = &dynamic_.observed_version;
    observe_size(buffer, bytes);
  }

  // Slots that are read by anything but a bound call that takes the result straight from its place.
  void find_escapes() {
    std::vector<bool> read(dynamic_.slot_count);
    for (int32_t slot : dynamic_.outputs) read[slot] = true;
    for (const Instruction& instruction : plan_->code) {
      if (instruction.kind == InstructionKind::kBound) continue;
      for (int32_t i = 0; i < instruction.input_count; ++i) read[dynamic_.operands[instruction.operands + i]] = true;
    }
    for (const BoundCall& call : plan_->calls) {
      for (const ValueDescriptor& input : call.inputs) {
        if (input.place == ValuePlace::kSlot) read[input.index] = true;
      }
    }
    for (BoundCall& call : plan_->calls) call.escapes = read[dynamic_.tensors[call.output.index].slot];
  }

  const Plan& dynamic_;
  const Observation& observation_;
  std::shared_ptr<SignaturePlan> plan_;
  std::unordered_map<int32_t, ValueDescriptor> known_;  // by slot
};

}  // namespace

std::shared_ptr<SignaturePlan> make_signature_plan(const Plan& dynamic, InputSignature signature,
                                                   const Observation& observation) {
  return Builder(dynamic, std::move(signature), observation).build();
}

}  // namespace stator
