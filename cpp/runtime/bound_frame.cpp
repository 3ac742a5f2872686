#include "runtime/bound_frame.h"

namespace stator {

BoundFrame::BoundFrame(std::shared_ptr<const SignaturePlan> plan, Frame& frame)
    : plan_(std::move(plan)), frame_(frame), calls_(plan_->calls.size()) {
  std::vector<PlannedBuffer* const*> buffers(
      frame.plan().tensors.size());  // by planned tensor, where the frame keeps its place
  for (const Instruction& instruction : plan_->code) {
    if (instruction.kind != InstructionKind::kBound) continue;
    ReadyCall& ready = calls_[instruction.index];
    ready.result_slot = frame.operands(instruction) + instruction.input_count;
    ready.result_buffer = frame.buffers(instruction) + instruction.input_count;
    buffers[plan_->calls[instruction.index].output.index] = ready.result_buffer;
  }
  for (size_t i = 0; i < calls_.size(); ++i) resolve(plan_->calls[i], calls_[i], buffers);
}

void BoundFrame::resolve(const BoundCall& call, ReadyCall& ready, const std::vector<PlannedBuffer* const*>& buffers) {
  ready.arguments.constants = call.constants;
  add_planned(call.output, ready.result_buffer, nullptr, &ready.arguments.output);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const ValueDescriptor& value = call.inputs[i];
    const void** address = &ready.arguments.inputs[i];
    switch (value.place) {
      case ValuePlace::kConstant:
        *address = value.address;
        break;
      case ValuePlace::kPlanned:
        add_planned(value, buffers[value.index], address, nullptr);
        break;
      case ValuePlace::kInput:
        input_addresses_.push_back({&frame_.slot(value.index), address});
        break;
      case ValuePlace::kSlot:
        ready.hypotheses.push_back({&frame_.slot(value.index), &value.meta, address});
        break;
    }
  }
}

void BoundFrame::add_planned(const ValueDescriptor& value, PlannedBuffer* const* buffer, const void** input,
                             void** output) {
  const bool workspace = frame_.plan().tensors[value.index].place == Place::kWorkspace;
  (workspace ? workspace_addresses_ : arena_addresses_).push_back({buffer, value.meta.bytes(), input, output});
}

bool BoundFrame::fill(const std::vector<PlannedAddress>& addresses) {
  for (const PlannedAddress& address : addresses) {
    const PlannedBuffer& buffer = **address.buffer;
    if (buffer.capacity < address.bytes) return false;
    if (address.input) *address.input = buffer.data;
    if (address.output) *address.output = buffer.data;
  }
  return true;
}

bool BoundFrame::prepare() {
  if (placement_ != frame_.placement()) {
    if (!fill(workspace_addresses_)) return false;
    placement_ = frame_.placement();
  }
  if (!fill(arena_addresses_)) return false;
  for (const InputAddress& address : input_addresses_) *address.input = address.slot->toTensor().const_data_ptr();
  return true;
}

bool BoundFrame::run(int32_t call) {
  ReadyCall& ready = calls_[call];
  for (const Hypothesis& hypothesis : ready.hypotheses) {
    if (!hypothesis.slot->isTensor()) return false;
    const at::Tensor& tensor = hypothesis.slot->toTensor();
    if (!hypothesis.meta->matches(tensor)) return false;
    *hypothesis.input = tensor.const_data_ptr();
  }
  if (plan_->calls[call].escapes) wrap(call);
  plan_->calls[call].kernel(ready.arguments);
  return true;
}

void BoundFrame::leave() {
  // Results that escape have their tensors already, as the operators that saw them left them.
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!plan_->calls[i].escapes) wrap(i);
  }
}

// A tensor over the result's place, made anew only if something else holds the last one or changed it. prepare() saw to it that the
// place is large enough.
void BoundFrame::wrap(size_t call) {
  const ReadyCall& ready = calls_[call];
  const TensorMeta& meta = plan_->calls[call].output.meta;
  Call(nullptr, 0, ready.result_slot, ready.result_buffer, nullptr).output(0, meta.sizes, {}, meta.dtype);
}

}  // namespace stator
