// BoundFrame: a signature plan made ready to run on one runtime's frame: its bound calls with the addresses of this runtime.
//
// It owns no memory and no slots; the frame, which outlives it, has both. That is why a run can leave it at any instruction.
#pragma once

#include <memory>
#include <vector>

#include "plan/signature_plan.h"
#include "runtime/frame.h"

namespace stator {

class BoundFrame {
 public:
  BoundFrame(std::shared_ptr<const SignaturePlan> plan, Frame& frame);
  BoundFrame(const BoundFrame&) = delete;
  BoundFrame& operator=(const BoundFrame&) = delete;

  const SignaturePlan& plan() const { return *plan_; }
  const std::vector<Instruction>& code() const { return plan_->code; }

  // Before a run, when the frame has been placed and its inputs set. False if a place is too small for its result, which happens when the
  // caller bound other memory to an output, or the plan was made after the frame was placed: then the run is the dynamic plan's.
  bool prepare();
  // Runs a bound call. False, with nothing done, if a hypothesis about an input does not hold.
  bool run(int32_t call);
  // The rest of the run is the dynamic plan's: slots that only bound calls cared for get their tensors.
  void leave();

 private:
  // An address in the arguments of a bound call that is new in each run, or after each placement of the workspace.
  struct PlannedAddress {
    PlannedBuffer* const* buffer;  // in the frame, which places it
    int64_t bytes;
    const void** input;  // where to write it: one of these
    void** output;
  };
  struct InputAddress {
    const c10::IValue* slot;
    const void** input;
  };
  struct Hypothesis {
    const c10::IValue* slot;
    const TensorMeta* meta;
    const void** input;
  };
  struct ReadyCall {
    BoundArguments arguments;
    std::vector<Hypothesis> hypotheses;
    c10::IValue* const* result_slot;
    PlannedBuffer* const* result_buffer;
  };

  void resolve(const BoundCall& call, ReadyCall& ready, const std::vector<PlannedBuffer* const*>& buffers);
  void add_planned(const ValueDescriptor& value, PlannedBuffer* const* buffer, const void** input, void** output);
  static bool fill(const std::vector<PlannedAddress>& addresses);
  void wrap(size_t call);

  std::shared_ptr<const SignaturePlan> plan_;
  Frame& frame_;
  std::vector<ReadyCall> calls_;  // parallel to plan_->calls
  std::vector<PlannedAddress> workspace_addresses_;
  std::vector<PlannedAddress> arena_addresses_;
  std::vector<InputAddress> input_addresses_;
  int64_t placement_ = -1;  // of the frame, when workspace_addresses_ were filled
};

}  // namespace stator
