#include "graph/printer.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "graph/dtype.h"

namespace stator {
namespace {

std::string escaped(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string printed(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;  // shortest that reads back the same
  std::string out(buffer.data(), end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

template <class Range, class F>
std::string joined(const Range& range, F&& f) {
  std::string out;
  for (const auto& element : range) {
    if (!out.empty()) out += ", ";
    out += f(element);
  }
  return out;
}

// Prints a constant; tensors are put into the table. A limit cuts long lists and strings.
class Values {
 public:
  explicit Values(std::vector<at::Tensor>* tensors, size_t limit = 0) : tensors_(tensors), limit_(limit) {}

  std::string print(const c10::IValue& value) {
    if (value.isNone()) return "None";
    if (value.isBool()) return value.toBool() ? "True" : "False";
    if (value.isInt()) return std::to_string(value.toInt());
    if (value.isDouble()) return printed(value.toDouble());
    if (value.isComplexDouble()) {
      auto number = value.toComplexDouble();
      return "complex(" + printed(number.real()) + ", " + printed(number.imag()) + ")";
    }
    if (value.isString()) {
      const std::string& text = value.toStringRef();
      if (limit_ && text.size() > limit_) return escaped(std::string_view(text).substr(0, limit_)) + "...";
      return escaped(text);
    }
    if (value.isDevice()) return "device(" + escaped(value.toDevice().str()) + ")";
    if (value.isTensor()) {
      if (!tensors_) return describe_tensor(value.toTensor());
      tensors_->push_back(value.toTensor());
      return "tensor(" + std::to_string(tensors_->size() - 1) + ")";
    }
    if (value.isList()) return "[" + elements(value.toListRef()) + "]";
    if (value.isTuple()) {
      const auto& items = value.toTupleRef().elements();
      std::string inner = elements(items.asArrayRef());
      return "(" + inner + (items.size() == 1 ? ",)" : ")");
    }
    return "<" + stator::print(*value.type()) + ">";
  }

 private:
  std::string elements(at::ArrayRef<c10::IValue> items) {
    std::string out;
    for (const c10::IValue& item : items) {
      if (!out.empty()) out += ", ";
      if (limit_ && out.size() > limit_) return out + "...";
      out += print(item);
    }
    return out;
  }

  std::vector<at::Tensor>* tensors_;
  size_t limit_;
};

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!ok) return false;
  }
  return true;
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), values_(&tensors_) {}

  std::string run() {
    name(graph_.root());
    out_ = "graph(" + params(graph_.root()) + "):\n";
    nodes(graph_.root(), "  ");
    out_ += "  return (" + references(graph_.outputs()) + ")\n";
    return std::move(out_);
  }

  std::vector<at::Tensor> tensors() { return std::move(tensors_); }

 private:
  void name(const Block& block) {
    for (const Value* value : block.params) name(value);
    for (const Node* node : block.nodes) {
      for (const Value* value : node->outputs) name(value);
      for (const Block* inner : node->blocks) name(*inner);
    }
  }

  void name(const Value* value) {
    std::string wanted = is_name(value->name) ? value->name : std::to_string(value->id);
    while (!taken_.insert(wanted).second) wanted += "." + std::to_string(value->id);
    names_[value] = std::move(wanted);
  }

  std::string reference(const Value* value) const {
    auto found = names_.find(value);
    return "%" + (found == names_.end() ? "<elsewhere " + std::to_string(value->id) + ">" : found->second);
  }
  std::string references(const std::vector<Value*>& values) const {
    return joined(values, [this](const Value* value) { return reference(value); });
  }
  std::string declaration(const Value* value) const { return reference(value) + " : " + print(*value->type); }
  std::string params(const Block& block) const {
    return joined(block.params, [this](const Value* value) { return declaration(value); });
  }

  void nodes(const Block& block, const std::string& indent) {
    for (const Node* node : block.nodes) {
      line(*node, indent);
      for (size_t i = 0; i < node->blocks.size(); ++i) {
        const Block& inner = *node->blocks[i];
        out_ += indent + "  block" + std::to_string(i) + "(" + params(inner) + "):\n";
        nodes(inner, indent + "    ");
        out_ += indent + "    -> (" + references(inner.results) + ")\n";
      }
    }
  }

  void line(const Node& node, const std::string& indent) {
    out_ += indent;
    if (!node.outputs.empty())
      out_ += joined(node.outputs, [this](const Value* value) { return declaration(value); }) + " = ";
    out_ += node.display_name() + attributes(node) + "(" + references(node.inputs) + ")";
    if (node.opcode == Opcode::kConstant && node.constant.isTensor())
      out_ += "  # " + describe_tensor(node.constant.toTensor());
    if (node.source.known()) out_ += "  # " + source(node.source);
    out_ += '\n';
  }

  static std::string source(const SourceLocation& where) {
    SourceLocation place{where.file, where.line, {}};
    std::string out = place.str();
    if (!where.text.empty()) out += (out.empty() ? "" : " ") + escaped(where.text);
    return out;
  }

  std::string attributes(const Node& node) {
    switch (node.opcode) {
      case Opcode::kConstant:
        if (node.constant.isTensor()) {
          tensors_.push_back(node.constant.toTensor());
          return "[tensor=" + std::to_string(tensors_.size() - 1) + "]";
        }
        return "[value=" + values_.print(node.constant) + "]";
      case Opcode::kGetAttr:
      case Opcode::kSetAttr:
      case Opcode::kCallMethod:
        return "[name=" + escaped(node.name) + "]";
      case Opcode::kLoadState:
      case Opcode::kStoreState:
        return "[slot=" + std::to_string(node.index) + "]";
      case Opcode::kIsInstance:
        return "[types=(" + joined(node.types, [](const c10::TypePtr& type) { return print(*type); }) + ")]";
      default:
        return {};
    }
  }

  const Graph& graph_;
  std::vector<at::Tensor> tensors_;
  Values values_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::string out_;
};

std::string printed_types(at::ArrayRef<c10::TypePtr> types) {
  return joined(types, [](const c10::TypePtr& type) { return print(*type); });
}

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

std::vector<at::Tensor> tensor_constants(const Graph& graph) {
  Printer printer(graph);
  printer.run();
  return printer.tensors();
}

std::string print(const c10::IValue& value, size_t limit) { return Values(nullptr, limit).print(value); }

std::string print(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return "Tensor";
    case c10::TypeKind::IntType:
      return "int";
    case c10::TypeKind::FloatType:
      return "float";
    case c10::TypeKind::BoolType:
      return "bool";
    case c10::TypeKind::ComplexType:
      return "complex";
    case c10::TypeKind::NumberType:
      return "Scalar";
    case c10::TypeKind::StringType:
      return "str";
    case c10::TypeKind::NoneType:
      return "NoneType";
    case c10::TypeKind::DeviceObjType:
      return "Device";
    case c10::TypeKind::AnyType:
      return "Any";
    case c10::TypeKind::GeneratorType:
      return "Generator";
    case c10::TypeKind::ListType:
      return "List[" + printed_types(type.containedTypes()) + "]";
    case c10::TypeKind::DictType:
      return "Dict[" + printed_types(type.containedTypes()) + "]";
    case c10::TypeKind::TupleType:
      return "Tuple[" + printed_types(type.containedTypes()) + "]";
    case c10::TypeKind::UnionType:
      return "Union[" + printed_types(type.containedTypes()) + "]";
    case c10::TypeKind::OptionalType:
      return "Optional[" + print(*type.expectRef<c10::OptionalType>().getElementType()) + "]";
    default:
      return type.annotation_str();
  }
}

}  // namespace stator
