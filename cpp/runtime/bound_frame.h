// BoundFrame: a signature plan made ready to run in one runtime: its steps with the addresses of this runtime.
//
// It owns what the plan's holders hold while a run goes on, and nothing else; slots are the frame's, which outlives it, and planned memory
// is the runtime's workspace and the arena of the run.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/signature_plan.h"
#include "runtime/frame.h"

namespace stator {

class BoundFrame {
 public:
  struct Step {
    SignatureStep::Kind kind;
    BoundKernel kernel;
    const void* specification;
    void** addresses;
    const SignatureStep* plan;
    std::vector<PlannedBuffer*> buffers;  // kCall: parallel to the instruction's operands
  };

  BoundFrame(std::shared_ptr<const SignaturePlan> plan, Frame& frame);
  BoundFrame(const BoundFrame&) = delete;
  BoundFrame& operator=(const BoundFrame&) = delete;

  const SignaturePlan& plan() const { return *plan_; }
  const std::vector<Step>& steps() const { return steps_; }

  // Before a run, when the frame's inputs and outputs are in place. False if an output's place is too small for it, which happens when the
  // caller bound other memory or the plan was made after the arena was laid out: then the run is the dynamic plan's.
  bool prepare(MemoryBlock& workspace);
  // The same for a run on the inputs of the last one, which nothing has changed.
  bool prepare_again(MemoryBlock& workspace);
  // All of a plan that has only kernels but for the result. False if one of them fails.
  bool run_kernels() const {
    for (size_t i = 0; i + 1 < steps_.size(); ++i) {
      if (!steps_[i].kernel(steps_[i].specification, steps_[i].addresses)) return false;
    }
    return true;
  }

  // Steps of their kinds. take_results() is for after a call: false if a result does not look as it must.
  void put(const Step& step);
  void make(const Step& step);
  bool take_results(const Step& step);
  bool guard(const Step& step) const;
  void drop_holders(const Step& step) {
    for (int32_t holder : step.plan->dropped_holders) holders_[holder] = c10::IValue();
  }
  // Puts what the step's snapshot says into the slots. The instruction with which the dynamic plan goes on.
  int32_t leave(const Step& step);
  // What steps have allocated themselves since the last call, besides what calls returned.
  int64_t newly_allocated() { return std::exchange(allocated_, 0); }
  const std::vector<c10::IValue>& holders() const { return holders_; }
  // After a run, also a failed one.
  void clear();

 private:
  // An address in the arguments of kernels, to be changed when its buffer comes to lie elsewhere.
  struct Use {
    void** address;
    int64_t offset;
  };

  void resolve(Step& step, size_t first);
  void add_call_buffers(Step& step);
  void add_use(const TensorView& view, void** address);
  void set_address(BufferId buffer, void* address);
  c10::IValue value_of(const TraceValue& value);
  c10::IValue home_of(const TraceValue& value);
  c10::IValue container(const TraceValue& value);
  const at::Tensor& tensor_of(const TraceValue& value);
  const at::Tensor& base(BufferId buffer);
  const at::Tensor& copied(BufferId buffer);

  std::shared_ptr<const SignaturePlan> plan_;
  Frame& frame_;
  std::vector<Step> steps_;
  std::vector<void*> addresses_;
  std::vector<std::vector<Use>> uses_;                  // by buffer
  std::vector<void*> bases_;                            // by buffer: where it lies
  std::vector<BufferId> inputs_, outputs_, workspace_;  // buffers, by their kinds
  std::deque<PlannedBuffer> call_places_;               // of the workspace, for calls
  std::vector<std::pair<PlannedBuffer*, BufferId>> placed_;
  std::vector<c10::IValue> holders_;
  // Tensors over planned memory, which all views of it in a run share, and what was made of them: one value is one tensor.
  std::vector<PlannedBuffer> base_places_;  // by buffer; those in the arena have theirs there
  std::vector<int64_t> base_made_;          // by buffer: the last run that needed it
  std::unordered_map<const TraceValue*, at::Tensor> tensors_;
  std::unordered_map<BufferId, at::Tensor>
      copies_;  // of what has no memory of its own; stay where they are as others come
  int64_t run_ = 0;
  int64_t allocated_ = 0;
  int64_t workspace_generation_ = -1;
};

}  // namespace stator
