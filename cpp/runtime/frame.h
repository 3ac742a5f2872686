// Frame: a plan made ready to run in one runtime. Slots, operands resolved to addresses, planned tensors placed in the runtime's workspace.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "memory/block.h"
#include "ops/call.h"
#include "plan/plan.h"
#include "runtime/arena.h"

namespace stator {

class Frame {
 public:
  explicit Frame(const Plan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Plan& plan() const { return plan_; }
  c10::IValue& slot(int32_t index) { return slots_[index]; }
  c10::IValue& input(int32_t index) { return slots_[plan_.first_input + index]; }
  std::span<const c10::IValue> inputs() const {
    return std::span(slots_).subspan(plan_.first_input, plan_.input_count);
  }
  c10::IValue* const* operands(const Instruction& instruction) const { return operands_.data() + instruction.operands; }
  PlannedBuffer* const* buffers(const Instruction& instruction) const {
    return buffer_of_operand_.data() + instruction.operands;
  }

  // Before a run. `workspace` is shared by all frames of a runtime; the outputs go to `arena`, or where `output` says for a tensor
  // of the result (NULL: no such).
  void place(MemoryBlock& workspace, ArenaContents& arena);
  void place_output(int32_t tensor, PlannedBuffer* buffer);
  // After a run, also a failed one: nothing of it is held any longer.
  void clear();

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Counts how often planned tensors of the workspace got new places.
  int64_t placement() const { return placement_; }

 private:
  void place_workspace(MemoryBlock& workspace);

  const Plan& plan_;
  std::vector<c10::IValue> slots_;
  std::vector<c10::IValue*> operands_;
  std::vector<PlannedBuffer> buffers_;             // of the workspace
  std::vector<PlannedBuffer*> buffer_of_operand_;  // parallel to operands_
  struct ArenaOperand {
    int32_t operand;
    int32_t tensor;  // in plan.tensors
  };
  std::vector<ArenaOperand> arena_operands_;
  const void* workspace_ = nullptr;
  int64_t version_ = -1;
  int64_t workspace_bytes_ = 0;
  int64_t placement_ = 0;
};

}  // namespace stator
