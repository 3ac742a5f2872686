#include "runtime/frame.h"

namespace stator {

Frame::Frame(const Plan& plan)
    : plan_(plan),
      slots_(plan.slot_count),
      operands_(plan.operands.size()),
      buffer_of_operand_(plan.operands.size(), nullptr) {
  for (size_t i = 0; i < plan.constants.size(); ++i) slots_[i] = plan.constants[i];
  for (size_t i = 0; i < plan.operands.size(); ++i) operands_[i] = &slots_[plan.operands[i]];
  size_t count = 0;
  for (const PlannedTensor& tensor : plan.tensors) count += tensor.place == Place::kWorkspace;
  buffers_.resize(count);
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    int32_t tensor = plan.buffer_of_operand[i];
    if (tensor < 0) continue;
    if (plan.tensors[tensor].place == Place::kWorkspace) {
      buffer_of_operand_[i] = &buffers_[plan.tensors[tensor].index];
    } else {
      arena_operands_.push_back({static_cast<int32_t>(i), tensor});
    }
  }
}

void Frame::place_workspace(MemoryBlock& workspace) {
  int64_t version = plan_.observed_version.load(std::memory_order_acquire);
  if (version == version_ && workspace.data() == workspace_) return;
  std::vector<int64_t> capacities;
  ArenaLayout layout = plan_.layout(Place::kWorkspace, &capacities);
  workspace.reserve(layout.bytes);
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
  workspace_ = workspace.data();
  version_ = version;
  workspace_bytes_ = layout.bytes;
  ++placement_;
}

void Frame::place(MemoryBlock& workspace, ArenaContents& arena) {
  place_workspace(workspace);
  for (const ArenaOperand& operand : arena_operands_) {
    buffer_of_operand_[operand.operand] = &arena.buffers[plan_.tensors[operand.tensor].index];
  }
}

void Frame::place_output(int32_t tensor, PlannedBuffer* buffer) {
  for (const ArenaOperand& operand : arena_operands_) {
    if (operand.tensor == tensor) buffer_of_operand_[operand.operand] = buffer;
  }
}

void Frame::clear() {
  for (int32_t slot : plan_.transient_slots) slots_[slot] = c10::IValue();
  // Tensors of the arena stand in slots of planned values too, and belong to the arena.
  for (const PlannedTensor& tensor : plan_.tensors) {
    if (tensor.place == Place::kArena) slots_[tensor.slot] = c10::IValue();
  }
}

}  // namespace stator
