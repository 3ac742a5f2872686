#include "runtime/execute.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/SmallVector.h>

#include "graph/dtype.h"
#include "graph/error.h"
#include "values/deep_copy.h"

namespace stator {
namespace {

std::string describe(const c10::IValue& value) {
  if (value.isTensor()) return describe_tensor(value.toTensor());
  if (value.isString()) return "'" + value.toStringRef() + "'";
  if (value.isList()) return "list of " + std::to_string(value.toListRef().size());
  if (value.isNone() || value.isInt() || value.isDouble() || value.isBool()) {
    std::ostringstream out;
    out << value;
    return out.str();
  }
  return value.tagKind();
}

ErrorPlace place_of(const Frame& frame, const Instruction& instruction) {
  ErrorPlace place;
  if (instruction.node < 0) return place;
  const Node& node = *frame.plan().nodes[instruction.node].node;
  place.op = node.opcode == Opcode::kOperator ? node.op->name : node.display_name();
  place.node = std::to_string(instruction.node);
  place.source = node.source.str();
  return place;
}

// What LibTorch said, and what the operator was given.
[[noreturn]] void fail(const Frame& frame, const Instruction& instruction, ErrorCode code, std::string message) {
  ErrorPlace place = place_of(frame, instruction);
  if (auto end = message.find("\nException raised from"); end != std::string::npos) message.resize(end);
  std::string full = place.op + ": " + message + "; got (";
  for (int32_t i = 0; i < instruction.input_count; ++i) {
    if (i) full += ", ";
    full += describe(*frame.operands(instruction)[i]);
  }
  throw Error(code, full + ")", std::move(place));
}

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

[[noreturn]] void raise(const Frame& frame, const Instruction& instruction) {
  const c10::IValue& message = *frame.operands(instruction)[0];
  throw Error(ErrorCode::kModelError, message.isString() ? message.toStringRef() : describe(message),
              place_of(frame, instruction));
}

void call_method(Frame& frame, const Instruction& instruction) {
  const std::string& name = frame.plan().nodes[instruction.node].node->name;
  auto* const* operands = frame.operands(instruction);
  auto object = operands[0]->toObject();
  torch::jit::Stack stack;
  for (int32_t i = 0; i < instruction.input_count; ++i) stack.push_back(*operands[i]);
  object->type()->getMethod(name).run(stack);
  if (instruction.output_count > 0)
    *operands[instruction.input_count] = stack.empty() ? c10::IValue() : std::move(stack.back());
}

bool next_iteration(Frame& frame, const Instruction& instruction, int64_t i) {
  auto* const* operands = frame.operands(instruction);
  *operands[2] = i;
  return i < operands[0]->toInt() && operands[1]->toBool();
}

}  // namespace

void execute(Frame& frame, State& state, const std::vector<Instruction>& first_code, BoundFrame* bound) {
  const Plan& plan = frame.plan();
  const Instruction* code = first_code.data();
  const auto end = static_cast<int32_t>(plan.code.size());
  int32_t pc = 0;
  try {
    while (pc < end) {
      const Instruction& instruction = code[pc];
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
          pc = instruction.target;
          continue;
        case InstructionKind::kJumpIfFalse:
          if (!frame.operands(instruction)[0]->toBool()) {
            pc = instruction.target;
            continue;
          }
          break;
        case InstructionKind::kLoopStart:
          if (!next_iteration(frame, instruction, 0)) {
            pc = instruction.target;
            continue;
          }
          break;
        case InstructionKind::kLoopNext:
          if (next_iteration(frame, instruction, frame.operands(instruction)[2]->toInt() + 1)) {
            pc = instruction.target;
            continue;
          }
          break;
        case InstructionKind::kRaise:
          raise(frame, instruction);
        case InstructionKind::kLoadState:
          *frame.operands(instruction)[0] = state.slots[instruction.index];
          break;
        case InstructionKind::kStoreState: {
          const c10::IValue& value = *frame.operands(instruction)[0];
          // State must not keep memory that the caller lends for one run.
          state.slots[instruction.index] = instruction.target ? deep_copy(value) : value;
          break;
        }
        case InstructionKind::kCallMethod:
          call_method(frame, instruction);
          break;
        case InstructionKind::kBound:
          if (!bound->run(instruction.index)) {
            bound->leave();
            code = plan.code.data();
            continue;
          }
          break;
      }
      for (int32_t i = 0; i < instruction.drop_count; ++i)
        frame.slot(plan.drops[instruction.drops + i]) = c10::IValue();
      ++pc;
    }
  } catch (Error& error) {
    if (error.place.op.empty()) error.place = place_of(frame, code[pc]);
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

}  // namespace stator
