#include "runtime/execute.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <c10/util/SmallVector.h>

#include "graph/error.h"
#include "runtime/failure.h"
#include "runtime/forks.h"
#include "runtime/run_memory.h"

namespace stator {
namespace {

void move_slots(Frame& frame, const Instruction& instruction) {
  auto* const* operands = frame.operands(instruction);
  const int32_t count = instruction.output_count;
  if (count == 1) {
    *operands[1] = *operands[0];
    return;
  }
  c10::SmallVector<c10::IValue, 8> values;
  for (int32_t i = 0; i < count; ++i) values.push_back(*operands[i]);
  for (int32_t i = 0; i < count; ++i) *operands[count + i] = std::move(values[i]);
}

void fork(Frame& frame, const Instruction& instruction) {
  auto* const* operands = frame.operands(instruction);
  std::vector<c10::IValue> arguments;
  arguments.reserve(instruction.input_count);
  for (int32_t i = 0; i < instruction.input_count; ++i) arguments.push_back(*operands[i]);
  const Plan& plan = frame.plan();
  *operands[instruction.input_count] = frame.forks()->fork(*plan.forks[instruction.index], std::move(arguments),
                                                           plan.nodes[instruction.node].node->output()->type);
}

// Tasks of one run share its state; a run without tasks has it to itself.
std::unique_lock<std::mutex> lock_state(const Frame& frame) {
  return frame.forks() ? frame.forks()->lock_state() : std::unique_lock<std::mutex>();
}

void load_state(Frame& frame, const State& state, const Instruction& instruction) {
  auto lock = lock_state(frame);
  *frame.operands(instruction)[0] = state.slots[instruction.index];
}

void store_state(Frame& frame, State& state, const Instruction& instruction) {
  c10::IValue kept = *frame.operands(instruction)[0];
  auto lock = lock_state(frame);
  std::swap(state.slots[instruction.index], kept);
}

void call_method(Frame& frame, const Instruction& instruction) {
  const std::string& name = frame.plan().nodes[instruction.node].node->name;
  auto* const* operands = frame.operands(instruction);
  auto object = operands[0]->toObject();
  torch::jit::Stack stack;
  for (int32_t i = 0; i < instruction.input_count; ++i) {
    stack.push_back(*operands[i]);
    if (frame.forks()) frame.forks()->begin_all_in(stack.back());
  }
  object->type()->getMethod(name).run(stack);
  if (instruction.output_count > 0)
    *operands[instruction.input_count] = stack.empty() ? c10::IValue() : std::move(stack.back());
}

// An exception goes through `with` as in the interpreter: what was entered and not left is left, innermost first. A block of `with` is a
// stretch of instructions, so what stands open at `pc` is found by walking up to it.
void leave_contexts(Frame& frame, int32_t pc) {
  const Plan& plan = frame.plan();
  std::vector<int32_t> open;
  for (int32_t i = 0; i <= pc; ++i) {
    if (plan.code[i].kind != InstructionKind::kCallMethod) continue;
    const std::string& name = plan.nodes[plan.code[i].node].node->name;
    if (name == "__enter__" && i < pc) open.push_back(i);
    if (name == "__exit__" && !open.empty()) open.pop_back();
  }
  for (; !open.empty(); open.pop_back()) {
    auto object = frame.operands(plan.code[open.back()])[0]->toObject();
    torch::jit::Stack stack{object, c10::IValue(), c10::IValue(), c10::IValue()};
    object->type()->getMethod("__exit__").run(stack);
  }
}

bool next_iteration(Frame& frame, const Instruction& instruction, int64_t i) {
  auto* const* operands = frame.operands(instruction);
  *operands[2] = i;
  return i < operands[0]->toInt() && operands[1]->toBool();
}

// Whether a run tells how long its instructions take: the loops are compiled once for each, so that a run that does not tell pays nothing.
struct Unwatched {
  void made(const Frame&, int32_t, const Instruction&) const {}
  void done(int32_t, const Instruction&, bool) const {}
  // A bound run may have allocated something itself.
  void allocated(BoundFrame&) const {}
  // Done together with another one.
  void joined(const std::vector<int32_t>&) const {}
};

// One reading of the clock an instruction: where one ends, the next begins.
class Watched : public Unwatched {
 public:
  explicit Watched(MethodProfile& profile) : profile_(profile), last_(ticks()) {}
  void done(int32_t pc, const Instruction&, bool bound) {
    const Ticks now = ticks();
    profile_.executed(pc, bound, last_, now - last_);
    last_ = now;
  }
  void joined(const std::vector<int32_t>& pcs) {
    for (int32_t pc : pcs) profile_.executed(pc, true, last_, 0);
  }

 private:
  MethodProfile& profile_;
  Ticks last_;
};

// Besides, what instructions return is counted.
template <class Watch>
class Counted : public Unwatched {
 public:
  Counted(RunMemory& memory, Watch watch) : memory_(memory), watch_(watch) {}
  void done(int32_t pc, const Instruction& instruction, bool bound) {
    watch_.done(pc, instruction, bound);
    if (!bound) memory_.executed(instruction);
  }
  void allocated(BoundFrame& bound) { memory_.allocated(bound.newly_allocated()); }
  void joined(const std::vector<int32_t>& pcs) { watch_.joined(pcs); }

 private:
  RunMemory& memory_;
  Watch watch_;
};

// Besides, what is done is written down.
template <class Watch>
class Recorded : public Unwatched {
 public:
  Recorded(Recording& recording, Watch watch) : recording_(recording), watch_(watch) {}
  void done(int32_t pc, const Instruction& instruction, bool bound) { watch_.done(pc, instruction, bound); }
  void made(Frame& frame, int32_t pc, const Instruction& instruction) {
    if (recording_.steps.size() == Recording::kMostSteps) recording_.complete = false;
    if (!recording_.complete) return;
    Recording::Step& step = recording_.steps.emplace_back(Recording::Step{pc, {}});
    for (int32_t i = 0; i < instruction.output_count; ++i) {
      const c10::IValue& value = *frame.operands(instruction)[instruction.input_count + i];
      step.outputs.emplace_back();
      if (is_plain(value)) step.outputs.back() = TensorMeta::of(value.toTensor());
    }
  }

 private:
  Recording& recording_;
  Watch watch_;
};

// What is no control flow.
void run_instruction(Frame& frame, State& state, const Instruction& instruction, PlannedBuffer* const* buffers) {
  switch (instruction.kind) {
    case InstructionKind::kCall: {
      auto* const* operands = frame.operands(instruction);
      instruction.run(Call(operands, instruction.input_count, operands + instruction.input_count,
                           buffers + instruction.input_count, instruction.data));
      break;
    }
    case InstructionKind::kLoadState:
      load_state(frame, state, instruction);
      break;
    case InstructionKind::kStoreState:
      store_state(frame, state, instruction);
      break;
    case InstructionKind::kFork:
      fork(frame, instruction);
      break;
    case InstructionKind::kWait:
      *frame.operands(instruction)[1] = frame.forks()->wait(*frame.operands(instruction)[0]->toFuture());
      break;
    case InstructionKind::kCallMethod:
      call_method(frame, instruction);
      break;
    default:
      raise(frame, instruction);
  }
}

// Runs `body`, which keeps `pc` at the instruction under way, and says in errors where they come from.
template <class Body>
void with_places(Frame& frame, const int32_t& pc, const Body& body) {
  const std::vector<Instruction>& code = frame.plan().code;
  try {
    try {
      body();
    } catch (...) {
      leave_contexts(frame, pc);
      throw;
    }
  } catch (Error& error) {
    if (error.place.op.empty()) {
      ErrorPlace place = place_of(frame, code[pc]);
      place.argument = std::move(error.place.argument);
      place.raised = std::move(error.place.raised);
      error.place = std::move(place);
    }
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    fail(frame, code[pc], ErrorCode::kOutOfMemory, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    fail(frame, code[pc], ErrorCode::kOperatorError, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    fail(frame, code[pc], ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    fail(frame, code[pc], ErrorCode::kOperatorError, error.what());
  }
}

template <class Watch>
void run_plan(Frame& frame, State& state, int32_t from, Watch watch) {
  const Plan& plan = frame.plan();
  const Instruction* code = plan.code.data();
  const auto end = static_cast<int32_t>(plan.code.size());
  int32_t pc = from;
  with_places(frame, pc, [&] {
    while (pc < end) {
      const Instruction& instruction = code[pc];
      int32_t next = pc + 1;
      switch (instruction.kind) {
        case InstructionKind::kCall: {
          auto* const* operands = frame.operands(instruction);
          instruction.run(Call(operands, instruction.input_count, operands + instruction.input_count,
                               frame.buffers(instruction) + instruction.input_count, instruction.data));
          break;
        }
        case InstructionKind::kMove:
          move_slots(frame, instruction);
          break;
        case InstructionKind::kJump:
          next = instruction.target;
          break;
        case InstructionKind::kJumpIfFalse:
          if (!frame.operands(instruction)[0]->toBool()) next = instruction.target;
          break;
        case InstructionKind::kLoopStart:
          if (!next_iteration(frame, instruction, 0)) next = instruction.target;
          break;
        case InstructionKind::kLoopNext:
          if (next_iteration(frame, instruction, frame.operands(instruction)[2]->toInt() + 1))
            next = instruction.target;
          break;
        default:
          run_instruction(frame, state, instruction, frame.buffers(instruction));
      }
      watch.made(frame, pc, instruction);
      for (int32_t i = 0; i < instruction.drop_count; ++i)
        frame.slot(plan.drops[instruction.drops + i]) = c10::IValue();
      watch.done(pc, instruction, false);
      pc = next;
    }
  });
}

// The instruction with which the dynamic plan is to go on; behind the last if there is nothing left to do.
template <class Watch>
int32_t run_steps(BoundFrame& bound, Frame& frame, State& state, Watch& watch) {
  using Kind = SignatureStep::Kind;
  const std::vector<Instruction>& code = frame.plan().code;
  int32_t pc = 0;
  int32_t next = static_cast<int32_t>(code.size());
  with_places(frame, pc, [&] {
    for (const BoundFrame::Step& step : bound.steps()) {
      bool stays = true;
      switch (step.kind) {
        case Kind::kTile:
        case Kind::kKernel:
          stays = step.kernel(step.specification, step.addresses);
          break;
        case Kind::kCall:
          pc = step.plan->pc;
          run_instruction(frame, state, code[pc], step.buffers.data());
          stays = bound.take_results(step);
          break;
        case Kind::kPut:
          bound.put(step);
          break;
        case Kind::kClear:
          frame.slot(step.plan->slot) = c10::IValue();
          break;
        case Kind::kMake:
          pc = step.plan->pc;
          bound.make(step);
          break;
        case Kind::kGuard:
          stays = bound.guard(step);
          break;
        case Kind::kLeave:
          stays = false;
          break;
      }
      if (!stays) {
        next = bound.leave(step);
        return;
      }
      watch.allocated(bound);
      bound.drop_holders(step);
      // What is between kernels and calls counts as part of the next.
      if (step.kind == Kind::kKernel || step.kind == Kind::kCall)
        watch.done(step.plan->pc, code[step.plan->pc], step.kind == Kind::kKernel);
      watch.joined(step.plan->joined);
    }
  });
  return next;
}

// Calls f(watch) with what the frame wants to be told.
template <class F>
void with_watch(Frame& frame, const F& f) {
  MethodProfile* profile = frame.profile();
  RunMemory* memory = frame.memory();
  if (profile && memory) return f(Counted(*memory, Watched(*profile)));
  if (profile) return f(Watched(*profile));
  if (memory) return f(Counted(*memory, Unwatched()));
  f(Unwatched());
}

}  // namespace

void execute(Frame& frame, State& state, int32_t from) {
  with_watch(frame, [&](auto watch) { run_plan(frame, state, from, watch); });
}

void execute(Frame& frame, State& state, Recording& recording) {
  with_watch(frame, [&](auto watch) { run_plan(frame, state, 0, Recorded(recording, watch)); });
}

void execute(BoundFrame& bound, Frame& frame, State& state) {
  int32_t from = 0;
  if (frame.memory()) frame.memory()->also_held(bound.holders());
  with_watch(frame, [&](auto watch) { from = run_steps(bound, frame, state, watch); });
  if (from < static_cast<int32_t>(frame.plan().code.size())) execute(frame, state, from);
}

}  // namespace stator
