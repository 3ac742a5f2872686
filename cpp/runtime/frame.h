// Frame: a plan made ready to run in one runtime. Slots, operands resolved to addresses, planned tensors placed in the runtime's workspace.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <vector>

#include "memory/block.h"
#include "ops/call.h"
#include "plan/plan.h"
#include "profile/profile.h"
#include "runtime/arena.h"

namespace stator {

class Forks;
class RunMemory;

class Frame {
 public:
  explicit Frame(const Plan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Plan& plan() const { return plan_; }
  c10::IValue& slot(int32_t index) { return slots_[index]; }
  c10::IValue& input(int32_t index) { return slots_[plan_.first_input + index]; }
  std::span<const c10::IValue> slots() const { return slots_; }
  std::span<const c10::IValue> inputs() const {
    return std::span(slots_).subspan(plan_.first_input, plan_.input_count);
  }
  c10::IValue* const* operands(const Instruction& instruction) const { return operands_.data() + instruction.operands; }
  PlannedBuffer* const* buffers(const Instruction& instruction) const {
    return (planned_ ? buffer_of_operand_ : no_buffers_).data() + instruction.operands;
  }
  // Where a planned tensor of the arena is placed in the run under way.
  PlannedBuffer* arena_buffer(int32_t tensor) const;

  // Before a run: outputs go to `arena`, or where place_output() says for a tensor of the result.
  void place(ArenaContents& arena);
  // Before a run of the dynamic plan. `workspace` is shared by all frames of a runtime.
  void place(MemoryBlock& workspace);
  // The rest of the run places nothing: the memory is in other use.
  void abandon_places() { planned_ = false; }
  void place_output(int32_t tensor, PlannedBuffer* buffer);
  // Whose tasks the plan's instructions fork and wait for; NULL if there are none such.
  void join(Forks* forks) { forks_ = forks; }
  Forks* forks() const { return forks_; }
  // After a run that has used nothing but places in the arena.
  void forget_arena() {
    for (const ArenaOperand& operand : arena_operands_) buffer_of_operand_[operand.operand] = nullptr;
  }
  // After a run, also a failed one: nothing of it is held any longer.
  void clear();
  // After clear(): throws Error(kInternal) if something of a run is held all the same.
  void check_for_leaks() const;
  // Between runs: the next one places everything anew.
  void forget_places();
  // Whether a planned tensor of the run under way lies there, outside the workspace.
  bool places(const void* data) const;

  // Who counts what the run under way holds; NULL: nobody.
  void count(RunMemory* memory);
  RunMemory* memory() const { return memory_; }

  // Where the next runs write down how long each instruction takes; NULL: nowhere.
  void watch(MethodProfile* profile) { profile_ = profile; }
  MethodProfile* profile() const { return profile_; }

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Counts how often planned tensors of the workspace got new places.
  int64_t placement() const { return placement_; }

 private:
  bool in_own_place(const PlannedTensor& tensor) const;

  const Plan& plan_;
  std::vector<c10::IValue> slots_;
  std::vector<c10::IValue*> operands_;
  std::vector<PlannedBuffer> buffers_;             // of the workspace
  std::vector<PlannedBuffer> carried_;             // parallel to plan.carried
  std::vector<PlannedBuffer*> buffer_of_operand_;  // parallel to operands_
  std::vector<PlannedBuffer*> no_buffers_;         // the same, all NULL
  bool planned_ = true;
  struct ArenaOperand {
    int32_t operand;
    int32_t tensor;  // in plan.tensors
  };
  std::vector<ArenaOperand> arena_operands_;
  int64_t workspace_generation_ = -1;
  int64_t version_ = -1;
  int64_t workspace_bytes_ = 0;
  int64_t placement_ = 0;
  Forks* forks_ = nullptr;
  MethodProfile* profile_ = nullptr;
  RunMemory* memory_ = nullptr;
};

}  // namespace stator
