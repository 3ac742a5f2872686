#include "runtime/failure.h"

#include <sstream>

#include "graph/dtype.h"

namespace stator {
namespace {

constexpr size_t kLongestText = 60;  // characters of a string
constexpr size_t kMostElements = 8;  // of a list
constexpr std::string_view kAssertion =
    "AssertionError";                  // the message of an assert begins so, and has no type beside it
constexpr size_t kMostArguments = 16;  // of a call: concatenations of hundreds are not listed

std::string describe(const c10::IValue& value);

template <class Items>
std::string describe_items(const Items& items, const char* open, const char* close) {
  std::string text = open;
  size_t count = 0;
  for (const c10::IValue& item : items) {
    if (count) text += ", ";
    if (count++ == kMostElements) {
      text += "... " + std::to_string(items.size()) + " in all";
      break;
    }
    text += describe(item);
  }
  return text + close;
}

std::string describe(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? describe_tensor(value.toTensor()) : "an undefined tensor";
  if (value.isString()) {
    const std::string& text = value.toStringRef();
    return "'" + (text.size() > kLongestText ? text.substr(0, kLongestText) + "..." : text) + "'";
  }
  if (value.isList()) return describe_items(value.toListRef(), "[", "]");
  if (value.isTuple()) return describe_items(value.toTupleRef().elements(), "(", ")");
  if (value.isNone() || value.isInt() || value.isDouble() || value.isBool() || value.isDevice()) {
    std::ostringstream out;
    out << value;
    return out.str();
  }
  return value.tagKind();
}

// The name of an argument as the operator's schema has it, "" if it has none.
std::string argument_name(const Node& node, int32_t index) {
  if (node.opcode != Opcode::kOperator) return "";
  const auto& arguments = node.op->schema.arguments();
  return index < static_cast<int32_t>(arguments.size()) ? arguments[index].name() : "";
}

// mat2 = user_emb: float32[20, 1, 32]
std::string describe_argument(const Node& node, int32_t index, const c10::IValue& value) {
  std::string text = argument_name(node, index);
  const std::string& name = index < static_cast<int32_t>(node.inputs.size()) ? node.inputs[index]->name : "";
  if (!name.empty() && name != text) text += (text.empty() ? "" : " = ") + name;
  return text + (text.empty() ? "" : ": ") + describe(value);
}

// LibTorch names an argument in its message, if at all, as: argument 'mat2' or argument #2 'mat2'
std::string concerned(const Node& node, const std::string& message) {
  for (int32_t i = 0; i < static_cast<int32_t>(node.inputs.size()); ++i) {
    const std::string name = argument_name(node, i);
    const size_t at = name.empty() ? std::string::npos : message.find("'" + name + "'");
    if (at == std::string::npos || at < 9) continue;
    const std::string before = message.substr(at < 16 ? 0 : at - 16, at < 16 ? at : 16);
    if (before.find("rgument") != std::string::npos)
      return "\"" + name + "\" (argument " + std::to_string(i + 1) + ") of " + node.op->name;
  }
  return "";
}

std::string first_paragraph(std::string message) {
  for (const char* end : {"\nException raised from", "\nC++ CapturedTraceback:"}) {
    if (auto at = message.find(end); at != std::string::npos) message.resize(at);
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  return message;
}

}  // namespace

ErrorPlace place_of(const Frame& frame, const Instruction& instruction) {
  ErrorPlace place;
  if (instruction.node < 0) return place;
  const Node& node = *frame.plan().nodes[instruction.node].node;
  place.op = node.opcode == Opcode::kOperator ? node.op->name : node.display_name();
  place.node = frame.plan().path + std::to_string(instruction.node);
  place.source = node.source.str();
  return place;
}

void fail(const Frame& frame, const Instruction& instruction, ErrorCode code, std::string message) {
  ErrorPlace place = place_of(frame, instruction);
  message = first_paragraph(std::move(message));
  if (instruction.node < 0) throw Error(code, message, std::move(place));
  const Node& node = *frame.plan().nodes[instruction.node].node;
  place.argument = concerned(node, message);
  std::string text = place.op;
  if (!place.source.empty()) text += " in " + place.source;
  text += ": " + message + "; got (";
  for (int32_t i = 0; i < instruction.input_count; ++i) {
    if (i) text += ", ";
    if (i == static_cast<int32_t>(kMostArguments)) {
      text += "... " + std::to_string(instruction.input_count) + " in all";
      break;
    }
    text += describe_argument(node, i, *frame.operands(instruction)[i]);
  }
  throw Error(code, text + ")", std::move(place));
}

void raise(const Frame& frame, const Instruction& instruction) {
  auto* const* operands = frame.operands(instruction);
  const c10::IValue& message = *operands[0];
  ErrorPlace place = place_of(frame, instruction);
  if (instruction.input_count > 1 && operands[1]->isString()) {
    place.raised = operands[1]->toStringRef();
    constexpr std::string_view kBuiltin = "builtins.";
    if (place.raised.starts_with(kBuiltin)) place.raised.erase(0, kBuiltin.size());
  } else if (message.isString() && message.toStringRef().starts_with(kAssertion)) {
    place.raised = kAssertion;
  }
  throw Error(ErrorCode::kModelError, message.isString() ? message.toStringRef() : describe(message), std::move(place));
}

}  // namespace stator
