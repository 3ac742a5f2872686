#include "plan/tracer.h"

#include <algorithm>

namespace stator {

Tracer::Tracer(const Plan& dynamic, InputSignature signature, const Recording& recording, PackedWeights& packed)
    : dynamic_(dynamic),
      recording_(recording),
      packed_(packed),
      plan_(std::make_shared<SignaturePlan>(SignaturePlan{.dynamic = &dynamic, .signature = std::move(signature)})),
      live_(dynamic),
      env_(dynamic.slot_count),
      physical_(dynamic.slot_count) {}

std::shared_ptr<SignaturePlan> Tracer::trace() {
  learn_constants();
  learn_inputs();
  for (size_t step = 0; step < recording_.steps.size(); ++step) {
    const int32_t pc = recording_.steps[step].pc;
    recorded_ = &recording_.steps[step];
    instruction_ = &dynamic_.code[pc];
    if (!advance(step)) {
      leave(pc);
      return std::move(plan_);
    }
    drop(*instruction_);
  }
  if (recording_.complete) {
    put_results();
  } else {
    leave(recording_.steps.back().pc + 1);
  }
  return std::move(plan_);
}

void Tracer::learn_constants() {
  for (size_t i = 0; i < dynamic_.constants.size(); ++i) {
    const c10::IValue& constant = dynamic_.constants[i];
    const auto slot = static_cast<int32_t>(i);
    TraceValue value{.home = {Home::Kind::kSlot, slot}};
    if (is_plain(constant)) {
      value.kind = TraceValue::Kind::kTensor;
      value.view = constant_view(constant.toTensor());
    } else if (!constant.isTensor() && !constant.isObject()) {
      value.kind = TraceValue::Kind::kKnown;
      value.known = constant;
    }
    env_[slot] = physical_[slot] = std::make_shared<const TraceValue>(std::move(value));
    if (constant.isList()) learn_constant_list(env_[slot]);
  }
}

TensorView Tracer::constant_view(const at::Tensor& tensor) {
  const BufferId buffer = add_buffer({.kind = Buffer::Kind::kConstant,
                                      .bytes = static_cast<int64_t>(tensor.nbytes()),
                                      .address = const_cast<void*>(tensor.const_data_ptr())});
  owners_[buffer] = tensor;
  return {buffer, 0, TensorMeta::of(tensor)};
}

// For those who ask for a list of tensors.
void Tracer::learn_constant_list(const TraceValuePtr& value) {
  std::vector<std::optional<TensorView>> views;
  for (const c10::IValue& element : value->known.toListRef()) {
    if (!element.isNone() && !is_plain(element)) return;
    views.push_back(element.isNone() ? std::nullopt : std::optional(constant_view(element.toTensor())));
  }
  constant_lists_[value] = std::move(views);
}

void Tracer::learn_inputs() {
  for (int32_t i = 0; i < dynamic_.input_count; ++i) {
    const SignatureEntry& entry = plan_->signature.entries()[i];
    const int32_t slot = dynamic_.first_input + i;
    TraceValue value{.home = {Home::Kind::kSlot, slot}};
    switch (entry.kind) {
      case SignatureEntry::Kind::kTensor:
        value.kind = TraceValue::Kind::kTensor;
        value.view = {add_buffer({.kind = Buffer::Kind::kInput, .bytes = entry.tensor.bytes(), .index = slot}), 0,
                      entry.tensor};
        break;
      case SignatureEntry::Kind::kInt:
        value.kind = TraceValue::Kind::kKnown;
        value.known = entry.number;
        break;
      case SignatureEntry::Kind::kBool:
        value.kind = TraceValue::Kind::kKnown;
        value.known = entry.number != 0;
        break;
      case SignatureEntry::Kind::kNone:
        value.kind = TraceValue::Kind::kKnown;
        break;
      case SignatureEntry::Kind::kOther:
        break;
    }
    env_[slot] = physical_[slot] = std::make_shared<const TraceValue>(std::move(value));
  }
}

SignatureStep& Tracer::emit(SignatureStep::Kind kind) {
  plan_->steps.push_back({.kind = kind, .pc = recorded_ ? recorded_->pc : -1});
  return plan_->steps.back();
}

BufferId Tracer::add_buffer(Buffer buffer) {
  plan_->buffers.push_back(buffer);
  return static_cast<BufferId>(plan_->buffers.size()) - 1;
}

bool Tracer::is_home(int32_t slot) const {
  return slot < static_cast<int32_t>(dynamic_.constants.size()) ||
         (slot >= dynamic_.first_input && slot < dynamic_.first_input + dynamic_.input_count);
}

bool Tracer::advance(size_t step) {
  switch (instruction_->kind) {
    case InstructionKind::kCall:
      node_ = dynamic_.nodes[instruction_->node].node;
      return trace_call();
    case InstructionKind::kMove:
      move(*instruction_);
      return true;
    case InstructionKind::kJump:
      return true;
    case InstructionKind::kJumpIfFalse:
      return jump(step);
    case InstructionKind::kLoopStart:
    case InstructionKind::kLoopNext:
      return loop(step);
    case InstructionKind::kLoadState:
    case InstructionKind::kStoreState:
    case InstructionKind::kFork:
    case InstructionKind::kWait:
      node_ = dynamic_.nodes[instruction_->node].node;
      return trace_dynamic();
    case InstructionKind::kRaise:
    case InstructionKind::kCallMethod:
      return false;
  }
  return false;
}

void Tracer::move(const Instruction& instruction) {
  std::vector<TraceValuePtr> values;
  for (int32_t i = 0; i < instruction.output_count; ++i) values.push_back(env_[slot_of(instruction, i)]);
  for (int32_t i = 0; i < instruction.output_count; ++i)
    env_[slot_of(instruction, instruction.input_count + i)] = std::move(values[i]);
}

bool Tracer::guard(const TraceValuePtr& condition, bool expected) {
  if (condition->kind == TraceValue::Kind::kKnown) return condition->known.toBool() == expected;
  SignatureStep& step = emit(SignatureStep::Kind::kGuard);
  step.value = condition;
  step.expected = expected;
  step.snapshot = snapshot(recorded_->pc);
  return true;
}

bool Tracer::jump(size_t step) {
  const int32_t pc = recorded_->pc;
  if (step + 1 >= recording_.steps.size() && !recording_.complete) return false;
  const int32_t next =
      step + 1 < recording_.steps.size() ? recording_.steps[step + 1].pc : static_cast<int32_t>(dynamic_.code.size());
  if (instruction_->target == pc + 1) return true;
  return guard(env_[slot_of(*instruction_, 0)], next == pc + 1);
}

// Whether there is a first, or another, iteration: i < trip count, and the condition.
bool Tracer::loop(size_t step) {
  if (step + 1 >= recording_.steps.size() && !recording_.complete) return false;
  const TraceValuePtr &trips = env_[slot_of(*instruction_, 0)], &condition = env_[slot_of(*instruction_, 1)];
  if (trips->kind != TraceValue::Kind::kKnown) return false;
  const int32_t counter_slot = slot_of(*instruction_, instruction_->input_count);
  int64_t counter = 0;
  if (instruction_->kind == InstructionKind::kLoopNext) counter = env_[counter_slot]->known.toInt() + 1;
  const bool more = counter < trips->known.toInt();
  // The condition is looked at last, and an iteration that was not begun has no counter.
  const int32_t next =
      step + 1 < recording_.steps.size() ? recording_.steps[step + 1].pc : static_cast<int32_t>(dynamic_.code.size());
  const bool starts = instruction_->kind == InstructionKind::kLoopStart;
  const bool went_on = (next == instruction_->target) != starts;
  if (more && !guard(condition, went_on)) return false;
  if (!more && went_on) return false;
  env_[counter_slot] =
      std::make_shared<const TraceValue>(TraceValue{.kind = TraceValue::Kind::kKnown, .known = counter});
  return true;
}

void Tracer::define(size_t output, TraceValuePtr value) {
  env_[slot_of(*instruction_, instruction_->input_count + static_cast<int32_t>(output))] = std::move(value);
}

void Tracer::put(int32_t slot) {
  forget_elsewhere(*env_[slot]);  // what is handed on may be written
  if (physical_[slot] == env_[slot]) return;
  SignatureStep& step = emit(SignatureStep::Kind::kPut);
  step.slot = slot;
  step.from = slot_with(env_[slot]);
  step.value = with_constants(env_[slot]);
  physical_[slot] = env_[slot];
}

// A slot in which the value stands already, -1 if there is none.
int32_t Tracer::slot_with(const TraceValuePtr& value) const {
  const auto found = std::find(physical_.begin(), physical_.end(), value);
  return found == physical_.end() ? -1 : static_cast<int32_t>(found - physical_.begin());
}

// Views of constants are made here, once and for all.
TraceValuePtr Tracer::with_constants(const TraceValuePtr& value) {
  if (value->kind == TraceValue::Kind::kTensor && value->home.kind == Home::Kind::kNone) {
    TraceValuePtr& made = views_of_constants_[value.get()];
    if (made) return made;
    const at::Tensor* tensor = constant(value->view);
    made = tensor ? std::make_shared<const TraceValue>(TraceValue{.kind = TraceValue::Kind::kKnown, .known = *tensor})
                  : value;
    kept_values_.push_back(value);
    return made;
  }
  if (value->kind != TraceValue::Kind::kContainer) return value;
  TraceValue out = *value;
  for (TraceValuePtr& element : out.elements) element = with_constants(element);
  return std::make_shared<const TraceValue>(std::move(out));
}

void Tracer::drop(const Instruction& instruction) {
  for (int32_t i = 0; i < instruction.drop_count; ++i) {
    const int32_t slot = dynamic_.drops[instruction.drops + i];
    env_[slot] = nullptr;
    if (!physical_[slot] || is_home(slot)) continue;
    physical_[slot] = nullptr;
    emit(SignatureStep::Kind::kClear).slot = slot;
  }
}

int32_t Tracer::snapshot(int32_t pc) {
  Snapshot out{.pc = pc};
  std::vector<int32_t> put;
  for (int32_t slot : live_.before(pc)) {
    if (!env_[slot]) continue;
    if (env_[slot] == physical_[slot]) {
      out.held.push_back(env_[slot]);
    } else {
      const auto same = std::find_if(put.begin(), put.end(), [&](int32_t other) { return env_[other] == env_[slot]; });
      const int32_t from = same == put.end() ? slot_with(env_[slot]) : *same;
      out.slots.push_back({slot, with_constants(env_[slot]), from});
      put.push_back(slot);
    }
  }
  plan_->snapshots.push_back(std::move(out));
  return static_cast<int32_t>(plan_->snapshots.size()) - 1;
}

void Tracer::leave(int32_t pc) {
  const int32_t at = snapshot(pc);
  emit(SignatureStep::Kind::kLeave).snapshot = at;
}

void Tracer::put_results() {
  for (int32_t slot : dynamic_.outputs) put(slot);
}

}  // namespace stator
