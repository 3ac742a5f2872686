#include "plan/liveness.h"

namespace stator {
namespace {

// Where a run may go on after an instruction.
std::vector<int32_t> successors(const Plan& plan, int32_t pc) {
  const Instruction& instruction = plan.code[pc];
  switch (instruction.kind) {
    case InstructionKind::kJump:
      return {instruction.target};
    case InstructionKind::kJumpIfFalse:
    case InstructionKind::kLoopStart:
    case InstructionKind::kLoopNext:
      return {pc + 1, instruction.target};
    case InstructionKind::kRaise:
      return {};
    default:
      return {pc + 1};
  }
}

}  // namespace

Liveness::Liveness(const Plan& plan) : live_(plan.code.size() + 1, std::vector<bool>(plan.slot_count)) {
  for (int32_t slot : plan.outputs) live_.back()[slot] = true;
  // Backwards, until nothing changes: twice, or once more for each loop in a loop.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto pc = static_cast<int32_t>(plan.code.size()) - 1; pc >= 0; --pc) {
      const Instruction& instruction = plan.code[pc];
      std::vector<bool> live(plan.slot_count);
      for (int32_t next : successors(plan, pc)) {
        for (int32_t slot = 0; slot < plan.slot_count; ++slot)
          if (live_[next][slot]) live[slot] = true;
      }
      const int32_t* operands = plan.operands.data() + instruction.operands;
      // A counter is read where it is written.
      if (instruction.kind != InstructionKind::kLoopNext) {
        for (int32_t i = 0; i < instruction.output_count; ++i) live[operands[instruction.input_count + i]] = false;
      }
      for (int32_t i = 0; i < instruction.input_count; ++i) live[operands[i]] = true;
      if (instruction.kind == InstructionKind::kLoopNext) live[operands[instruction.input_count]] = true;
      if (live != live_[pc]) {
        live_[pc] = std::move(live);
        changed = true;
      }
    }
  }
}

std::vector<int32_t> Liveness::before(int32_t pc) const {
  std::vector<int32_t> slots;
  for (size_t slot = 0; slot < live_[pc].size(); ++slot)
    if (live_[pc][slot]) slots.push_back(static_cast<int32_t>(slot));
  return slots;
}

}  // namespace stator
