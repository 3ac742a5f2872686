// A plan: a method's graph as one flat array of instructions over one array of slots, with the memory of every planned tensor.
//
// A plan is immutable but for the sizes observed in runs, and shared by all runtimes. Slots: [constants][inputs][everything else].
// If and Loop are jumps. This is the *dynamic plan*, which knows no shapes; a *signature plan* (signature_plan.h) is made of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/program.h"
#include "memory/layout.h"
#include "ops/registry.h"

namespace stator {

enum class InstructionKind : uint8_t {
  kCall,         // run(inputs..., outputs...)
  kMove,         // inputs to outputs, all at once
  kJump,         // to target
  kJumpIfFalse,  // (condition) to target
  kLoopStart,    // (trip count, condition) -> (i): i = 0; to target unless there is a first iteration
  kLoopNext,     // (trip count, condition) -> (i): i += 1; to target if there is another iteration
  kRaise,        // (message[, class name])
  kLoadState,    // -> (value), index
  kStoreState,   // (value), index
  kCallMethod,   // (receiver, args...) -> (results...), by the node's name
  kFork,         // (arguments...) -> (future); index: in Plan::forks
  kWait,         // (future) -> (value)
};

struct Instruction {
  InstructionKind kind = InstructionKind::kCall;
  OpFunction run = nullptr;    // kCall
  const void* data = nullptr;  // kCall: what the implementation prepared
  int32_t operands = 0;        // in Plan::operands: slots of the inputs, then of the outputs
  int32_t input_count = 0;
  int32_t output_count = 0;
  int32_t target = 0;  // jumps
  int32_t index = 0;   // kLoadState, kStoreState: slot of state; kFork: the forked plan
  int32_t drops = 0;   // in Plan::drops: slots to clear when the instruction is done
  int32_t drop_count = 0;
  int32_t node = -1;  // in Plan::nodes
};

// What `stator plan` and errors say about a node.
struct PlanNode {
  const Node* node = nullptr;  // in the graph, which the plan's method owns
  Implementation implementation;
  bool control = false;
  int depth = 0;
};

enum class Place : uint8_t { kWorkspace, kArena };

// Storage groups; a place of its own for every tensor; or nothing planned, all on the heap.
enum class PlannerKind : uint8_t { kStandard, kNaive, kNone };

// Memory for one tensor: where it lives and when.
struct PlannedTensor {
  const Value* value = nullptr;
  Place place = Place::kWorkspace;
  int32_t slot = 0;
  int32_t index = 0;  // among the tensors of its place
  Lifetime lifetime;
  int32_t group = 0;        // within its place
  bool written = false;     // some operator may change it, its shape included, after it was made
  bool maybe_view = false;  // of other memory: then there is nothing of it here
};

// Where a result of a call may live, whatever makes it.
struct ResultHome {
  enum class Kind : uint8_t {
    kElsewhere,  // nothing is known, or it is not made by the call: a view
    kWorkspace,  // dies with the run
    kArena,      // part of the run's result
    kHeap,       // something outside the run may keep it
  } kind = Kind::kElsewhere;
  bool written = false;     // some operator may change it, its shape included, after it was made
  bool maybe_view = false;  // it may be an argument, or a view of one, instead
};

struct Plan {
  const Graph* graph = nullptr;
  PlannerKind planner = PlannerKind::kStandard;
  std::vector<Instruction> code;
  std::vector<int32_t> operands;
  std::vector<int32_t> drops;
  std::vector<PlanNode> nodes;
  std::vector<c10::IValue> constants;  // slots 0 ..
  int32_t first_input = 0;             // slot of the first input
  int32_t input_count = 0;
  int32_t slot_count = 0;
  std::vector<int32_t> outputs;  // slots of the method's results (TorchScript: one)
  std::vector<int32_t> leaves;   // per tensor of the result, depth first: index into tensors, -1 if not planned
  bool fixed_structure = true;   // false: how many tensors the result holds depends on the run, `leaves` is empty
  std::vector<PlannedTensor> tensors;
  std::vector<int32_t> buffer_of_operand;   // parallel to operands: index into tensors, -1 if not planned
  std::vector<ResultHome> home_of_operand;  // parallel to operands: of results of calls
  std::vector<int32_t> carried;             // operands: results that iterations of a loop make in turn, on the heap
  std::vector<int32_t> transient_slots;     // cleared after every run: all but constants and what stays planned
  std::vector<bool> writes_input;           // per input
  bool state_may_keep_inputs = false;       // state may hold memory of an input when a run ends
  // Of the blocks of Forks: inputs are the arguments, the output is what wait gives.
  std::vector<std::unique_ptr<Plan>> forks;
  bool has_tasks = false;  // some instruction forks or waits
  std::string path;        // before the numbers of its nodes in messages: "7." in the fork that is node 7

  // Largest size asked for, per planned tensor: grows only. The version counts the changes.
  std::unique_ptr<std::atomic<int64_t>[]> observed;
  mutable std::atomic<int64_t> observed_version{0};

  // As if no run had been. Any thread, also while others run.
  void forget_sizes() const;
  // Group sizes as observed so far, for one place.
  ArenaLayout layout(Place place, std::vector<int64_t>* capacities = nullptr) const;
};

class PackedWeights;

// Makes the dynamic plan of a graph that lives at least as long as the plan. With `packed` some calls are done by bound kernels (bound_call.h).
std::unique_ptr<Plan> make_dynamic_plan(const Graph& graph, PlannerKind planner,
                                        std::shared_ptr<PackedWeights> packed = nullptr);

}  // namespace stator
