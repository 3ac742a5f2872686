#include "runtime/frame.h"

#include <algorithm>

#include "graph/error.h"

namespace stator {

Frame::Frame(const Plan& plan)
    : plan_(plan),
      slots_(plan.slot_count),
      operands_(plan.operands.size()),
      buffer_of_operand_(plan.operands.size(), nullptr),
      no_buffers_(plan.operands.size(), nullptr) {
  for (size_t i = 0; i < plan.constants.size(); ++i) slots_[i] = plan.constants[i];
  for (size_t i = 0; i < plan.operands.size(); ++i) operands_[i] = &slots_[plan.operands[i]];
  buffers_.resize(std::count_if(plan.tensors.begin(), plan.tensors.end(),
                                [](const PlannedTensor& tensor) { return tensor.place == Place::kWorkspace; }));
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    int32_t tensor = plan.buffer_of_operand[i];
    if (tensor < 0) continue;
    if (plan.tensors[tensor].place == Place::kWorkspace) {
      buffer_of_operand_[i] = &buffers_[plan.tensors[tensor].index];
    } else {
      arena_operands_.push_back({static_cast<int32_t>(i), tensor});
    }
  }
  carried_.resize(plan.carried.size());
  for (PlannedBuffer& buffer : carried_) buffer.carried = true;
  this->count(nullptr);
}

void Frame::place(MemoryBlock& workspace) {
  int64_t version = plan_.observed_version.load(std::memory_order_acquire);
  if (version == version_ && workspace.generation() == workspace_generation_) return;
  std::vector<int64_t> capacities;
  ArenaLayout layout = plan_.layout(Place::kWorkspace, &capacities);
  workspace.reserve(layout.bytes, "planned tensors");
  for (size_t i = 0; i < plan_.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan_.tensors[i];
    if (tensor.place != Place::kWorkspace) continue;
    PlannedBuffer& buffer = buffers_[tensor.index];
    void* data = workspace.data() + layout.offsets[tensor.index];
    if (buffer.data != data) {
      slots_[tensor.slot] = c10::IValue();
      buffer.tensor = at::Tensor();
    }
    buffer.data = data;
    buffer.capacity = capacities[tensor.index];
    buffer.observed = &plan_.observed[i];
    buffer.version = &plan_.observed_version;
  }
  workspace_generation_ = workspace.generation();
  version_ = version;
  workspace_bytes_ = layout.bytes;
  ++placement_;
}

void Frame::place(ArenaContents& arena) {
  for (const ArenaOperand& operand : arena_operands_) {
    buffer_of_operand_[operand.operand] = &arena.buffers[plan_.tensors[operand.tensor].index];
  }
}

PlannedBuffer* Frame::arena_buffer(int32_t tensor) const {
  for (const ArenaOperand& operand : arena_operands_) {
    if (operand.tensor == tensor) return buffer_of_operand_[operand.operand];
  }
  return nullptr;
}

void Frame::place_output(int32_t tensor, PlannedBuffer* buffer) {
  for (const ArenaOperand& operand : arena_operands_) {
    if (operand.tensor == tensor) buffer_of_operand_[operand.operand] = buffer;
  }
}

// What is counted is what slots hold: then a tensor that waits for its turn must not be.
void Frame::count(RunMemory* memory) {
  memory_ = memory;
  for (size_t i = 0; i < carried_.size(); ++i) buffer_of_operand_[plan_.carried[i]] = memory ? nullptr : &carried_[i];
}

bool Frame::in_own_place(const PlannedTensor& tensor) const {
  if (tensor.place == Place::kArena) return false;
  const c10::IValue& slot = slots_[tensor.slot];
  return slot.isTensor() && slot.toTensor().is_same(buffers_[tensor.index].tensor);
}

void Frame::clear() {
  planned_ = true;
  for (int32_t slot : plan_.transient_slots) slots_[slot] = c10::IValue();
  // In slots of planned values stand tensors that belong to the arena, and tensors on the heap that found no room. Our own stay.
  for (const PlannedTensor& tensor : plan_.tensors) {
    if (!in_own_place(tensor)) slots_[tensor.slot] = c10::IValue();
  }
  forget_arena();
  for (PlannedBuffer& buffer : carried_) buffer.tensor = buffer.previous = at::Tensor();
}

void Frame::forget_places() {
  for (const PlannedTensor& tensor : plan_.tensors) slots_[tensor.slot] = c10::IValue();
  for (PlannedBuffer& buffer : buffers_) buffer = PlannedBuffer();
  version_ = workspace_generation_ = -1;
  workspace_bytes_ = 0;
  ++placement_;
}

bool Frame::places(const void* data) const {
  return std::any_of(arena_operands_.begin(), arena_operands_.end(), [&](const ArenaOperand& operand) {
    const PlannedBuffer* buffer = buffer_of_operand_[operand.operand];
    return buffer && buffer->data == data && data;
  });
}

void Frame::check_for_leaks() const {
  const auto leak = [](int32_t slot, const char* what) {
    throw Error(ErrorCode::kInternal, "after a run slot " + std::to_string(slot) + " " + what);
  };
  for (int32_t slot : plan_.transient_slots) {
    if (!slots_[slot].isNone()) leak(slot, "still holds a value");
  }
  for (const ArenaOperand& operand : arena_operands_) {
    if (buffer_of_operand_[operand.operand]) leak(plan_.operands[operand.operand], "still points into the arena");
  }
  for (const PlannedTensor& planned : plan_.tensors) {
    const bool in_slot = in_own_place(planned);
    if (!in_slot && !slots_[planned.slot].isNone()) leak(planned.slot, "still holds a tensor");
    if (planned.place == Place::kArena) continue;
    const at::Tensor& tensor = buffers_[planned.index].tensor;
    if (!tensor.defined()) continue;
    if (tensor.use_count() > (in_slot ? 2U : 1U)) leak(planned.slot, "has a planned tensor that something else holds");
    if (tensor.has_storage() && tensor.storage().use_count() > 1)
      leak(planned.slot, "has a planned tensor whose memory something else holds");
  }
}

}  // namespace stator
