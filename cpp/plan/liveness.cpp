#include "plan/liveness.h"

#include <algorithm>
#include <bit>

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

constexpr int32_t kBits = 64;

void add(std::vector<uint64_t>& slots, int32_t slot) { slots[slot / kBits] |= uint64_t{1} << slot % kBits; }
void remove(std::vector<uint64_t>& slots, int32_t slot) { slots[slot / kBits] &= ~(uint64_t{1} << slot % kBits); }

}  // namespace

Liveness::Liveness(const Plan& plan)
    : live_(plan.code.size() + 1, Slots((static_cast<size_t>(plan.slot_count) + kBits - 1) / kBits)) {
  for (int32_t slot : plan.outputs) add(live_.back(), slot);
  Slots live(live_.back().size());
  // Backwards, until nothing changes: twice, or once more for each loop in a loop.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto pc = static_cast<int32_t>(plan.code.size()) - 1; pc >= 0; --pc) {
      const Instruction& instruction = plan.code[pc];
      std::fill(live.begin(), live.end(), 0);
      for (int32_t next : successors(plan, pc)) {
        for (size_t i = 0; i < live.size(); ++i) live[i] |= live_[next][i];
      }
      const int32_t* operands = plan.operands.data() + instruction.operands;
      // A counter is read where it is written.
      if (instruction.kind != InstructionKind::kLoopNext) {
        for (int32_t i = 0; i < instruction.output_count; ++i) remove(live, operands[instruction.input_count + i]);
      }
      for (int32_t i = 0; i < instruction.input_count; ++i) add(live, operands[i]);
      if (instruction.kind == InstructionKind::kLoopNext) add(live, operands[instruction.input_count]);
      if (live != live_[pc]) {
        live_[pc] = live;
        changed = true;
      }
    }
  }
}

std::vector<int32_t> Liveness::before(int32_t pc) const {
  std::vector<int32_t> slots;
  for (size_t i = 0; i < live_[pc].size(); ++i) {
    for (uint64_t left = live_[pc][i]; left != 0; left &= left - 1)
      slots.push_back(static_cast<int32_t>(i) * kBits + std::countr_zero(left));
  }
  return slots;
}

}  // namespace stator
