// What the steps of a signature plan read and write, so that passes over them need not know each kind.
#pragma once

#include "plan/signature_plan.h"

namespace stator {

// Calls f(value) for a value and for what is in it.
template <class F>
void for_each_within(const TraceValue& value, const F& f) {
  f(value);
  for (const TraceValuePtr& element : value.elements) for_each_within(*element, f);
}

// Calls f(value) for every value that the step reads, and for what is in it.
template <class F>
void for_each_value(const SignatureStep& step, const F& f) {
  if (step.value) for_each_within(*step.value, f);
  for (const TraceValuePtr& input : step.inputs) for_each_within(*input, f);
}

// The same for what a run reads that leaves the plan here.
template <class F>
void for_each_value_left(const SignaturePlan& plan, const SignatureStep& step, const F& f) {
  if (step.snapshot < 0) return;
  const Snapshot& snapshot = plan.snapshots[step.snapshot];
  for (const SlotValue& slot : snapshot.slots) for_each_within(*slot.value, f);
  for (const TraceValuePtr& value : snapshot.held) for_each_within(*value, f);
}

// Both.
template <class F>
void for_each_value(const SignaturePlan& plan, const SignatureStep& step, const F& f) {
  for_each_value(step, f);
  for_each_value_left(plan, step, f);
}

// The same for buffers.
template <class F>
void for_each_read(const SignaturePlan& plan, const SignatureStep& step, const F& f) {
  for (const TensorView& view : step.reads) f(view.buffer);
  if (step.tile) {
    for (const TensorView& view : step.tile->reads()) f(view.buffer);
  }
  for_each_value(plan, step, [&](const TraceValue& value) {
    if (value.kind != TraceValue::Kind::kTensor) return;
    const Buffer& buffer = plan.buffers[value.view.buffer];
    f(buffer.kind == Buffer::Kind::kCopied ? buffer.source.buffer : value.view.buffer);
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
