// SignaturePlan: what a method does under one signature, as a straight line of steps: bound kernels, and calls of the dynamic plan's
// instructions where there is no kernel.
//
// It is made by walking a recorded run of the dynamic plan. Jumps whose conditions follow from the signature are gone; others are guarded.
// Where a run does not do what the recorded one did (a condition, the shape of an operator's result, an index that is out of range), it goes
// over to the dynamic plan, for good: a *snapshot* says with which instruction, and what the slots must hold then.
//
// Immutable, shared by all runtimes.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/bound_kernel.h"
#include "plan/kernel_variants.h"
#include "plan/plan.h"
#include "plan/recording.h"
#include "plan/signature.h"
#include "plan/tile_expression.h"
#include "plan/trace_value.h"

namespace stator {

struct Buffer {
  enum class Kind : uint8_t {
    kConstant,   // at `address`
    kInput,      // of the tensor in slot `index`
    kWorkspace,  // at `offset`
    kArena,      // of the dynamic plan's planned tensor `index`
    kHolder,     // of the tensor in holder `index`, as soon as it is there
    kCopied,     // nowhere: its elements lie in `source`, of which a tensor is made when a run leaves the plan
  } kind = Kind::kWorkspace;
  int64_t bytes = 0;
  int32_t index = -1;
  int64_t offset = -1;
  void* address = nullptr;
  BufferId place = -1;  // kHolder: the tensor was to be made there, in the workspace
  ResultHome::Kind home = ResultHome::Kind::kElsewhere;
  bool pinned = false;     // kWorkspace: something may hold it to the end of the run
  bool exclusive = false;  // made by the plan's own steps, and not an alias of anything
  TensorView source{};     // kCopied
  TensorMeta meta{};       // of the tensor that it is made for
};

// What a slot is to hold. One value in several slots is one object.
struct SlotValue {
  int32_t slot = -1;
  TraceValuePtr value{};
  int32_t from = -1;  // another slot that holds it already
};

struct Snapshot {
  int32_t pc = 0;
  std::vector<SlotValue> slots;     // to be put there
  std::vector<TraceValuePtr> held;  // in their slots already
};

struct SignatureStep {
  enum class Kind : uint8_t {
    kKernel,  // kernel(specification, addresses of reads and writes)
    kTile,    // while the plan is made: `tile`, not yet compiled
    kCall,    // the dynamic plan's instruction `pc`; its inputs are in their slots
    kPut,     // slot <- value
    kClear,   // slot <- nothing
    kMake,    // holder <- a tensor on the heap
    kGuard,   // goes on if `value`, a bool, is `expected`
    kLeave,   // goes over to the dynamic plan
  } kind = Kind::kKernel;
  // What a call or kMake gives.
  struct Result {
    int32_t slot = -1;                 // of a call
    int32_t holder = -1;               // takes it too
    std::optional<TensorMeta> meta{};  // must look like this
    BufferId buffer = -1;              // then its memory
    BufferId place = -1;               // in the workspace: where it is to be made
  };

  int32_t pc = -1;                // of the dynamic plan: what it does, or does last
  std::vector<int32_t> joined{};  // what else it does
  BoundKernel kernel = nullptr;
  std::shared_ptr<const void> specification{};
  bool can_fail = false;
  std::shared_ptr<const KernelVariants> variants{};  // kKernel, while the plan is made; NULL: none
  std::vector<TensorView> reads{}, writes{};
  std::optional<TileExpression> tile{};
  int32_t slot = -1;                    // kPut, kClear
  int32_t from = -1;                    // kPut: another slot that holds the value already
  TraceValuePtr value{};                // kPut, kGuard
  TensorMeta meta{};                    // kMake
  bool expected = false;                // kGuard
  std::vector<TraceValuePtr> inputs{};  // kCall
  std::vector<Result> results{};
  bool barrier = false;  // kCall: nothing may be moved across it
  int32_t snapshot = -1;
  std::vector<int32_t> dropped_holders{};  // when it is done
};

struct SignaturePlan {
  int64_t number = 0;             // no other plan of the process has it; from 1
  const Plan* dynamic = nullptr;  // outlives it
  InputSignature signature;
  std::vector<Buffer> buffers;
  std::vector<SignatureStep> steps;
  std::vector<Snapshot> snapshots;
  std::vector<at::Tensor> constants;  // owners of buffers' addresses that are the plan's own
  std::vector<at::Tensor> packed;     // and of those that all plans of the module share
  int32_t holder_count = 0;
  int64_t workspace_bytes = 0;
  int64_t live_bytes = 0;     // the most of it that is alive at once
  int64_t group_bytes = 0;    // what Static Runtime's groups would take for the same buffers
  bool shares_work = false;   // kernels may share work among the threads of a run
  bool only_kernels = false;  // no step but kernels, and at the end a put of the result: one tensor, in the arena

  // What the result of a plan of only_kernels looks like.
  const TensorMeta& result_meta() const { return steps.back().value->view.meta; }

  // Instructions of the dynamic plan whose work bound kernels do.
  int64_t bound_count = 0;

  std::vector<int64_t> record;  // what it was made of, to be made of it again: saved_record.h
};

class PackedWeights;

// `recording` is of a whole run on this signature.
std::shared_ptr<SignaturePlan> make_signature_plan(const Plan& dynamic, InputSignature signature,
                                                   const Recording& recording, PackedWeights& packed);

}  // namespace stator
