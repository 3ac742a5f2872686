#include "runtime/bound_frame.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "ops/views.h"

namespace stator {

using Kind = SignatureStep::Kind;

BoundFrame::BoundFrame(std::shared_ptr<const SignaturePlan> plan, Frame& frame)
    : plan_(std::move(plan)),
      frame_(frame),
      steps_(plan_->steps.size()),
      uses_(plan_->buffers.size()),
      bases_(plan_->buffers.size(), nullptr),
      holders_(plan_->holder_count),
      base_places_(plan_->buffers.size()),
      base_made_(plan_->buffers.size(), -1) {
  size_t count = 0;
  for (const SignatureStep& step : plan_->steps) count += step.reads.size() + step.writes.size();
  addresses_.resize(count);
  size_t first = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].plan = &plan_->steps[i];
    resolve(steps_[i], first);
    first += plan_->steps[i].reads.size() + plan_->steps[i].writes.size();
  }
  for (size_t i = 0; i < plan_->buffers.size(); ++i) {
    const Buffer& buffer = plan_->buffers[i];
    const auto id = static_cast<BufferId>(i);
    if (buffer.kind == Buffer::Kind::kConstant) set_address(id, buffer.address);
    if (buffer.kind == Buffer::Kind::kInput && !uses_[i].empty()) inputs_.push_back(id);
    if (buffer.kind == Buffer::Kind::kArena) outputs_.push_back(id);
    if (buffer.kind == Buffer::Kind::kWorkspace && buffer.offset >= 0) workspace_.push_back(id);
  }
}

void BoundFrame::resolve(Step& step, size_t first) {
  step.kind = step.plan->kind;
  step.kernel = step.plan->kernel;
  step.specification = step.plan->specification.get();
  step.addresses = addresses_.data() + first;
  for (const TensorView& view : step.plan->reads) add_use(view, &addresses_[first++]);
  for (const TensorView& view : step.plan->writes) add_use(view, &addresses_[first++]);
  if (step.kind == Kind::kCall) add_call_buffers(step);
}

// In the workspace where this plan says, in the arena where the dynamic plan does; not where that one has its workspace.
void BoundFrame::add_call_buffers(Step& step) {
  const Instruction& instruction = frame_.plan().code[step.plan->pc];
  step.buffers.assign(instruction.input_count + instruction.output_count, nullptr);
  for (size_t i = 0; i < step.plan->results.size(); ++i) {
    const BufferId place = step.plan->results[i].place;
    if (place < 0 || plan_->buffers[place].offset < 0) continue;
    PlannedBuffer& planned = call_places_.emplace_back();
    planned.capacity = plan_->buffers[place].bytes;
    placed_.push_back({&planned, place});
    step.buffers[instruction.input_count + i] = &planned;
  }
}

void BoundFrame::add_use(const TensorView& view, void** address) {
  uses_[view.buffer].push_back({address, view.offset});
}

void BoundFrame::set_address(BufferId buffer, void* address) {
  if (bases_[buffer] == address) return;
  bases_[buffer] = address;
  for (const Use& use : uses_[buffer]) *use.address = static_cast<char*>(address) + use.offset;
}

bool BoundFrame::prepare_again(MemoryBlock& workspace) {
  ++run_;
  for (BufferId id : outputs_) {
    const Buffer& buffer = plan_->buffers[id];
    const PlannedBuffer* place = frame_.arena_buffer(buffer.index);
    if (!place || place->capacity < buffer.bytes) return false;
    set_address(id, place->data);
  }
  workspace.reserve(plan_->workspace_bytes, "planned tensors");
  if (workspace.generation() != workspace_generation_) {
    for (BufferId id : workspace_) set_address(id, workspace.data() + plan_->buffers[id].offset);
    for (auto& [planned, id] : placed_) {
      planned->data = bases_[id];
      planned->tensor = at::Tensor();
    }
    workspace_generation_ = workspace.generation();
  }
  return true;
}

bool BoundFrame::prepare(MemoryBlock& workspace) {
  for (BufferId id : inputs_)
    set_address(id, const_cast<void*>(frame_.slot(plan_->buffers[id].index).toTensor().const_data_ptr()));
  return prepare_again(workspace);
}

void BoundFrame::put(const Step& step) {
  frame_.slot(step.plan->slot) = step.plan->from >= 0 ? frame_.slot(step.plan->from) : value_of(*step.plan->value);
}

void BoundFrame::make(const Step& step) {
  const TensorMeta& meta = step.plan->meta;
  at::Tensor made = at::detail::empty_strided_cpu(meta.sizes, meta.strides, meta.dtype);
  const SignatureStep::Result& result = step.plan->results[0];
  set_address(result.buffer, made.data_ptr());
  allocated_ += static_cast<int64_t>(made.storage().nbytes());
  holders_[result.holder] = std::move(made);
}

bool BoundFrame::take_results(const Step& step) {
  bool as_expected = true;
  for (const SignatureStep::Result& result : step.plan->results) {
    const c10::IValue& value = frame_.slot(result.slot);
    holders_[result.holder] = value;
    if (!result.meta) continue;
    if (value.isTensor() && result.meta->matches(value.toTensor())) {
      set_address(result.buffer, const_cast<void*>(value.toTensor().const_data_ptr()));
    } else {
      as_expected = false;
    }
  }
  return as_expected;
}

bool BoundFrame::guard(const Step& step) const {
  const Home home = step.plan->value->home;
  const c10::IValue& value =
      home.kind == Home::Kind::kHolder ? holders_[home.index] : frame_.slots()[static_cast<size_t>(home.index)];
  return value.isBool() && value.toBool() == step.plan->expected;
}

int32_t BoundFrame::leave(const Step& step) {
  const Snapshot& snapshot = plan_->snapshots[step.plan->snapshot];
  // Not yet into the slots: some are the homes of others' values.
  std::vector<c10::IValue> values;
  for (const SlotValue& put : snapshot.slots) {
    const auto first =
        std::find_if(snapshot.slots.begin(), snapshot.slots.begin() + static_cast<ptrdiff_t>(values.size()),
                     [&](const SlotValue& other) { return other.slot == put.from; });
    const auto before = static_cast<size_t>(first - snapshot.slots.begin());
    if (put.from < 0) {
      values.push_back(value_of(*put.value));
    } else {
      values.push_back(before < values.size() ? values[before] : frame_.slot(put.from));
    }
  }
  for (size_t i = 0; i < values.size(); ++i) frame_.slot(snapshot.slots[i].slot) = std::move(values[i]);
  frame_.abandon_places();
  return snapshot.pc;
}

void BoundFrame::clear() {
  for (c10::IValue& holder : holders_) holder = c10::IValue();
  tensors_.clear();
  copies_.clear();
}

// Values ----------------------------------------------------------------------------------------------------------------------

c10::IValue BoundFrame::home_of(const TraceValue& value) {
  return value.home.kind == Home::Kind::kHolder ? holders_[value.home.index] : frame_.slot(value.home.index);
}

c10::IValue BoundFrame::value_of(const TraceValue& value) {
  if (value.home.kind != Home::Kind::kNone) return home_of(value);
  switch (value.kind) {
    case TraceValue::Kind::kKnown:
      return value.known;
    case TraceValue::Kind::kTensor:
      return tensor_of(value);
    case TraceValue::Kind::kContainer:
      return container(value);
    case TraceValue::Kind::kOpaque:
      break;
  }
  return {};
}

c10::IValue BoundFrame::container(const TraceValue& value) {
  std::vector<c10::IValue> elements;
  for (const TraceValuePtr& element : value.elements) elements.push_back(value_of(*element));
  if (const auto* list = value.type->castRaw<c10::ListType>()) {
    c10::impl::GenericList out(list->getElementType());
    for (c10::IValue& element : elements) out.push_back(std::move(element));
    return out;
  }
  auto type = value.type->cast<c10::TupleType>();
  if (type->schema()) return c10::ivalue::Tuple::createNamed(std::move(elements), type);
  return c10::ivalue::Tuple::create(std::move(elements));
}

const at::Tensor& BoundFrame::tensor_of(const TraceValue& value) {
  const TensorView& view = value.view;
  const at::Tensor& whole = base(view.buffer);
  if (value.whole) return whole;
  at::Tensor& made = tensors_[&value];
  if (!made.defined()) {
    made = make_view(whole, view.meta.sizes, view.meta.strides,
                     whole.storage_offset() + view.offset / static_cast<int64_t>(whole.itemsize()));
  }
  return made;
}

// The tensor whose memory a buffer is.
const at::Tensor& BoundFrame::base(BufferId id) {
  const Buffer& buffer = plan_->buffers[id];
  if (buffer.kind == Buffer::Kind::kInput) return frame_.slot(buffer.index).toTensor();
  if (buffer.kind == Buffer::Kind::kHolder) return holders_[buffer.index].toTensor();
  if (buffer.kind == Buffer::Kind::kCopied) return copied(id);
  // An output's is the arena's own, so that it need not be copied there.
  PlannedBuffer* planned = buffer.kind == Buffer::Kind::kArena ? frame_.arena_buffer(buffer.index) : &base_places_[id];
  if (base_made_[id] != run_) {
    if (buffer.kind == Buffer::Kind::kWorkspace) {
      if (planned->data != bases_[id]) planned->tensor = at::Tensor();
      planned->data = bases_[id];
      planned->capacity = buffer.bytes;
    }
    c10::IValue out;
    c10::IValue* slots[] = {&out};
    Call(nullptr, 0, slots, &planned, nullptr).output(0, buffer.meta.sizes, buffer.meta.strides, buffer.meta.dtype);
    base_made_[id] = run_;
  }
  return planned->tensor;
}

// Elements that the plan keeps elsewhere, as the dynamic plan would have them.
const at::Tensor& BoundFrame::copied(BufferId id) {
  at::Tensor& copy = copies_[id];
  if (copy.defined()) return copy;
  const Buffer& buffer = plan_->buffers[id];
  const TensorView& source = buffer.source;
  copy = at::detail::empty_strided_cpu(buffer.meta.sizes, buffer.meta.strides, buffer.meta.dtype);
  allocated_ += static_cast<int64_t>(copy.storage().nbytes());
  copy.copy_(at::from_blob(static_cast<char*>(bases_[source.buffer]) + source.offset, source.meta.sizes,
                           source.meta.strides, at::TensorOptions(source.meta.dtype)));
  return copy;
}

}  // namespace stator
