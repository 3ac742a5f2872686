// Tracer: walks a recorded run and writes down, step by step, what a signature plan does. One use.
//
// It keeps what is known of each slot of the dynamic plan (`env_`) apart from what a run will have put there (`physical_`): bound kernels
// need no slots, only calls of the dynamic plan's instructions and snapshots do.
#pragma once

#include <deque>
#include <unordered_map>

#include "plan/binding.h"
#include "plan/liveness.h"
#include "plan/packed_weights.h"
#include "plan/signature_plan.h"

namespace stator {

class Tracer final : private Binding {
 public:
  Tracer(const Plan& dynamic, InputSignature signature, const Recording& recording, PackedWeights& packed);

  std::shared_ptr<SignaturePlan> trace();

 private:
  // tracer.cpp: the walk, slots, control flow.
  void learn_constants();
  void learn_constant_list(const TraceValuePtr& value);
  TensorView constant_view(const at::Tensor& tensor);
  void learn_inputs();
  bool advance(size_t step);  // false: the plan ends before this instruction
  void move(const Instruction& instruction);
  bool jump(size_t step);
  bool loop(size_t step);
  bool guard(const TraceValuePtr& condition, bool expected);
  void leave(int32_t pc);
  void put_results();
  int32_t slot_of(const Instruction& instruction, int32_t operand) const {
    return dynamic_.operands[instruction.operands + operand];
  }
  const TraceValuePtr& input_value(size_t i) const { return env_[slot_of(*instruction_, static_cast<int32_t>(i))]; }
  // Argument i as the model sees it; tensor(i) is as it lies best. NULL if it is no plain tensor.
  const TensorView* as_seen(size_t i) const;
  TensorView as_lies_best(const TensorView& view) const;
  bool lies_elsewhere(const TraceValue& value) const;
  void copy_to_results();
  void forget_elsewhere(const TraceValue& value);
  void define(size_t output, TraceValuePtr value);
  void put(int32_t slot);
  int32_t slot_with(const TraceValuePtr& value) const;
  TraceValuePtr with_constants(const TraceValuePtr& value);
  void drop(const Instruction& instruction);
  int32_t snapshot(int32_t pc);
  SignatureStep& emit(SignatureStep::Kind kind);
  BufferId add_buffer(Buffer buffer);
  bool is_home(int32_t slot) const;

  // trace_call.cpp: one call of an operator.
  bool trace_call();
  bool trace_structure();
  std::optional<c10::IValue> known_list() const;
  bool trace_folded();
  bool trace_meta();
  bool trace_bound();
  bool trace_in_place();
  // trace_part.cpp
  bool write_part(Binder binder, const TensorView& view);
  static TraceValuePtr in_buffer(const TraceValuePtr& value, BufferId from, BufferId to,
                                 std::unordered_map<const TraceValue*, TraceValuePtr>& moved);
  bool take_meta(const std::vector<c10::IValue>& stack, bool query,
                 const std::function<const TensorView*(const at::Tensor&)>& aliased,
                 const std::function<TraceValuePtr(const at::Tensor&)>& same_tensor);
  bool bind(Binder binder);
  bool try_to_bind(const std::function<bool()>& bind);
  // Where the plan stands, to go back to if a call cannot be bound.
  struct Mark {
    size_t steps, buffers, constants, snapshots;
    int32_t holders;
  };
  Mark here() const;
  void go_back(const Mark& mark);
  bool adopt_results();
  bool trace_dynamic();
  void pin(const TraceValue& value);
  bool unpack(const std::vector<TraceValuePtr>& elements);
  bool copy(size_t output, const TensorView& from, const TensorMeta& result);
  bool may_run_dynamic() const;
  bool keeps_inputs() const;
  void add_result(SignatureStep& step, size_t output);
  ResultHome home_of(size_t output) const {
    return dynamic_.home_of_operand[instruction_->operands + instruction_->input_count + output];
  }

  // Binding, for the call at hand.
  const Node& node() const override { return *node_; }
  const c10::IValue* known(size_t i) const override;
  const TensorView* tensor(size_t i) const override;
  std::optional<std::vector<TensorView>> tensor_list(size_t i) const override;
  std::optional<std::vector<std::optional<TensorView>>> optional_tensor_list(size_t i) const override;
  const at::Tensor* constant(const TensorView& view) const override;
  const TensorMeta* observed(size_t i) const override;
  int64_t parts(double nanoseconds) override;
  TensorView result(size_t i, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) override;
  TensorView new_result(size_t i, TensorMeta meta);
  TensorView result_in_part(TensorMeta meta);
  std::optional<TensorView> result_elsewhere(size_t i) override;
  void result_is(size_t i, TensorView view) override;
  void result_is_known(size_t i, c10::IValue value) override;
  TensorView scratch(at::ScalarType dtype, at::IntArrayRef sizes) override;
  TensorView keep(at::Tensor constant) override;
  TensorView packed(const at::Tensor& weight, std::string_view form, const TensorMeta& meta,
                    const std::function<void(at::Tensor&)>& fill) override;
  void run(BoundKernel kernel, std::shared_ptr<const void> specification, std::vector<TensorView> reads,
           std::vector<TensorView> writes, bool can_fail) override;
  bool takes_variants() const override { return true; }
  void can_also(std::shared_ptr<const KernelVariants> variants) override;
  void run(TileExpression expression) override;
  TensorView lasting(const at::Tensor& constant);

  const Plan& dynamic_;
  const Recording& recording_;
  PackedWeights& packed_;
  std::shared_ptr<SignaturePlan> plan_;
  Liveness live_;
  std::vector<TraceValuePtr> env_;       // by slot; NULL: nothing that is still read
  std::vector<TraceValuePtr> physical_;  // by slot; NULL: something that is no longer cared for

  // The call at hand.
  const Recording::Step* recorded_ = nullptr;
  const Instruction* instruction_ = nullptr;
  const Node* node_ = nullptr;
  std::vector<TraceValuePtr> results_;
  BufferId in_place_of_ = -1;       // the result takes the place of what an operator would have written into
  std::optional<TensorView> part_;  // the result goes there
  std::unordered_map<BufferId, at::Tensor> owners_;  // of constants' memory
  // Elements of buffers that lie in a better order in another one too: as a view of all of them there. So convolutions read what convolutions
  // made, though the model has it channels-last in between; what is in the model's order only for nobody to read is dropped.
  std::unordered_map<BufferId, TensorView> elsewhere_;
  struct Made {
    TensorView from, to;
  };
  std::vector<Made> made_elsewhere_;  // of the call at hand: to be copied to its results
  mutable std::deque<TensorView> shown_;
  mutable std::deque<at::Tensor> constant_views_;
  std::unordered_map<TraceValuePtr, std::vector<std::optional<TensorView>>> constant_lists_;
  std::unordered_map<const TraceValue*, TraceValuePtr> views_of_constants_;  // with_constants(), so that one stays one
  std::vector<TraceValuePtr> kept_values_;                                   // alive, as its keys
};

}  // namespace stator
