#include "runtime/run_memory.h"

#include <algorithm>

#include "graph/error.h"
#include "runtime/forks.h"

namespace stator {
namespace {

constexpr const char* kPurpose = "tensors that operators returned";

template <class F>
void each_storage(const c10::IValue& value, F&& f) {
  if (value.isTensor()) {
    if (value.toTensor().defined() && value.toTensor().has_storage()) f(value.toTensor());
    return;
  }
  if (!value.isPtrType()) return;
  value.visit([&](const c10::IValue& inner) {
    if (inner.isTensor() && inner.toTensor().defined() && inner.toTensor().has_storage()) f(inner.toTensor());
    return false;
  });
}

// Operators on containers hand on tensors that others have made.
bool may_allocate(const Plan& plan, const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kCallMethod:
    case InstructionKind::kWait:
      return true;
    case InstructionKind::kCall: {
      const Node& node = *plan.nodes[instruction.node].node;
      return node.opcode == Opcode::kOperator ? node.op->in_dispatcher()
                                              : node.opcode == Opcode::kVarCat || node.opcode == Opcode::kVarStack;
    }
    default:
      return false;
  }
}

}  // namespace

RunMemory::RunMemory(std::shared_ptr<MemoryBudget> budget, Frame& frame, const MemoryBlock& workspace,
                     const State& state)
    : frame_(frame), workspace_(workspace), state_(state), charge_(std::move(budget)) {
  const auto exclude = [this](const at::Tensor& tensor) { not_ours_.insert(tensor.storage().unsafeGetStorageImpl()); };
  for (const c10::IValue& input : frame.inputs()) each_storage(input, exclude);
  for (const c10::IValue& constant : frame.plan().constants) each_storage(constant, exclude);
  charge_.set(held_bytes(), "state");
  frame_.count(this);
}

RunMemory::~RunMemory() { frame_.count(nullptr); }

// In the workspace, the arena or memory that the caller lends.
bool RunMemory::planned(const at::Tensor& tensor) const {
  const void* data = tensor.storage().data();
  return workspace_.holds(data) || frame_.places(data);
}

int64_t RunMemory::new_bytes(const Instruction& instruction) const {
  if (!may_allocate(frame_.plan(), instruction)) return 0;
  auto* const* operands = frame_.operands(instruction);
  Storages seen;
  for (int32_t i = 0; i < instruction.input_count; ++i) {
    each_storage(*operands[i], [&](const at::Tensor& t) { seen.insert(t.storage().unsafeGetStorageImpl()); });
  }
  int64_t bytes = 0;
  for (int32_t i = 0; i < instruction.output_count; ++i) {
    each_storage(*operands[instruction.input_count + i], [&](const at::Tensor& t) {
      if (!planned(t) && seen.insert(t.storage().unsafeGetStorageImpl()).second)
        bytes += static_cast<int64_t>(t.storage().nbytes());
    });
  }
  return bytes;
}

int64_t RunMemory::held_bytes() const {
  Storages seen = not_ours_;
  int64_t bytes = 0;
  const auto count = [&](const at::Tensor& t) {
    if (!planned(t) && seen.insert(t.storage().unsafeGetStorageImpl()).second)
      bytes += static_cast<int64_t>(t.storage().nbytes());
  };
  for (const c10::IValue& slot : frame_.slots()) each_storage(slot, count);
  if (holders_) {
    for (const c10::IValue& holder : *holders_) each_storage(holder, count);
  }
  auto lock = frame_.forks() ? frame_.forks()->lock_state() : std::unique_lock<std::mutex>();
  for (const c10::IValue& slot : state_.slots) each_storage(slot, count);
  return bytes;
}

void RunMemory::executed(const Instruction& instruction) { allocated(new_bytes(instruction)); }

void RunMemory::allocated(int64_t bytes) {
  if (bytes == 0) return;
  try {
    charge_.set(charge_.bytes() + bytes, kPurpose);
  } catch (const Error&) {
    charge_.set(held_bytes(), kPurpose);
  }
}

}  // namespace stator
