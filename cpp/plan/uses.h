// What the steps of a signature plan read and write, so that passes over them need not know each kind.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// Calls f(value) for every value that the step may read, and for what is in it: what a run reads that leaves the plan here is among them.
template <class F>
void for_each_value(const SignaturePlan& plan, const SignatureStep& step, const F& f) {
  const auto visit = [&](const auto& self, const TraceValue& value) -> void {
    f(value);
    for (const TraceValuePtr& element : value.elements) self(self, *element);
  };
  if (step.value) visit(visit, *step.value);
  for (const TraceValuePtr& input : step.inputs) visit(visit, *input);
  if (step.snapshot < 0) return;
  const Snapshot& snapshot = plan.snapshots[step.snapshot];
  for (const SlotValue& slot : snapshot.slots) visit(visit, *slot.value);
  for (const TraceValuePtr& value : snapshot.held) visit(visit, *value);
}

// The same for buffers.
template <class F>
void for_each_read(const SignaturePlan& plan, const SignatureStep& step, const F& f) {
  for (const TensorView& view : step.reads) f(view.buffer);
  if (step.tile) {
    for (const TensorView& view : step.tile->reads()) f(view.buffer);
  }
  for_each_value(plan, step, [&](const TraceValue& value) {
    if (value.kind == TraceValue::Kind::kTensor) f(value.view.buffer);
  });
}

// Calls f(buffer) for every buffer that the step makes or fills.
template <class F>
void for_each_write(const SignatureStep& step, const F& f) {
  for (const TensorView& view : step.writes) f(view.buffer);
  if (step.tile) {
    for (const TensorView& view : step.tile->writes()) f(view.buffer);
  }
  for (const SignatureStep::Result& result : step.results) {
    if (result.buffer >= 0) f(result.buffer);
    if (result.place >= 0) f(result.place);
  }
}

}  // namespace stator
