// RunMemory: counts the memory that a run holds besides what is planned - tensors that operators return on the heap, and state - against the
// runtime's budget. Only runs under a limit have one.
//
// Each new tensor is counted when its instruction is done, and none is subtracted when it goes. When that would be too much, everything that
// the run reaches is counted anew: so the sum is never too low, and exact whenever it decides.
#pragma once

#include <memory>
#include <unordered_set>

#include "memory/block.h"
#include "runtime/frame.h"
#include "runtime/module.h"

namespace stator {

class RunMemory {
 public:
  // All outlive it. Throws Error(kMemoryLimit) if the state alone is too much.
  RunMemory(std::shared_ptr<MemoryBudget> budget, Frame& frame, const MemoryBlock& workspace, const State& state);
  ~RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;

  // The instruction is done, its operands are in the slots. Throws Error(kMemoryLimit).
  void executed(const Instruction& instruction);
  // The run has allocated so much besides what instructions return. Throws Error(kMemoryLimit).
  void allocated(int64_t bytes);
  // What the run of a signature plan holds besides slots; it outlives the run.
  void also_held(const std::vector<c10::IValue>& holders) { holders_ = &holders; }

 private:
  using Storages = std::unordered_set<const c10::StorageImpl*>;

  bool planned(const at::Tensor& tensor) const;
  int64_t new_bytes(const Instruction& instruction) const;
  int64_t held_bytes() const;

  Frame& frame_;
  const MemoryBlock& workspace_;
  const State& state_;
  Storages not_ours_;  // inputs and constants
  const std::vector<c10::IValue>* holders_ = nullptr;
  MemoryCharge charge_;
};

}  // namespace stator
