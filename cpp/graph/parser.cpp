#include "graph/parser.h"

#include <charconv>
#include <limits>
#include <unordered_map>

#include "graph/error.h"

namespace stator {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const at::Tensor> constants) : text_(text), constants_(constants) {}

  std::unique_ptr<Graph> graph() {
    auto graph = std::make_unique<Graph>();
    graph_ = graph.get();
    word("graph");
    params(&graph_->root());
    expect(":");
    nodes(&graph_->root());
    word("return");
    for (Value* value : references()) graph_->add_result(&graph_->root(), value);
    end();
    return graph;
  }

  c10::TypePtr whole_type() {
    c10::TypePtr out = type();
    end();
    return out;
  }

 private:
  // Text ------------------------------------------------------------------------------------------------------------

  [[noreturn]] void fail(const std::string& what) const {
    size_t line = 1;
    for (char c : text_.substr(0, at_)) line += c == '\n';
    throw Error(ErrorCode::kInvalidArgument, "line " + std::to_string(line) + ": " + what);
  }

  void skip() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool looks_at(std::string_view token) {
    skip();
    return text_.substr(at_, token.size()) == token;
  }

  bool accept(std::string_view token) {
    if (!looks_at(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail("expected '" + std::string(token) + "'" + found());
  }

  std::string found() const {
    if (at_ >= text_.size()) return ", found the end";
    size_t stop = std::min(text_.find_first_of(" \n", at_), at_ + 20);
    return ", found '" + std::string(text_.substr(at_, stop - at_)) + "'";
  }

  void end() {
    skip();
    if (at_ != text_.size()) fail("text after the end" + found());
  }

  std::string word() {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name" + found());
    return std::string(text_.substr(begin, at_ - begin));
  }

  void word(std::string_view wanted) {
    skip();
    size_t begin = at_;
    if (at_ >= text_.size() || !is_word(text_[at_]) || word() != wanted) {
      at_ = begin;
      fail("expected '" + std::string(wanted) + "'" + found());
    }
  }

  std::string operator_key() {
    std::string out = word();
    while (accept("::")) out += "::" + word();
    return out;
  }

  std::string string() {
    expect("\"");
    std::string out;
    for (;;) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("string without end");
      char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) fail("string without end");
      c = text_[at_++];
      if (c == 'n') out += '\n';
      else if (c == 't') out += '\t';
      else if (c == 'x') out += hex();
      else out += c;
    }
  }

  char hex() {
    int value = 0;
    if (at_ + 2 > text_.size() ||
        std::from_chars(text_.data() + at_, text_.data() + at_ + 2, value, 16).ptr != text_.data() + at_ + 2)
      fail("expected two hexadecimal digits");
    at_ += 2;
    return static_cast<char>(value);
  }

  int64_t integer() {
    skip();
    int64_t value = 0;
    auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer" + found());
    at_ = stop - text_.data();
    return value;
  }

  // f() for each element up to `close`; a comma may follow the last.
  template <class F>
  size_t list(std::string_view close, F&& f) {
    size_t count = 0;
    while (!accept(close)) {
      f();
      ++count;
      if (!accept(",")) {
        expect(close);
        break;
      }
    }
    return count;
  }

  // Types -----------------------------------------------------------------------------------------------------------

  c10::TypePtr type() {
    c10::TypePtr out = base_type();
    for (;;) {
      if (accept("[]")) out = c10::ListType::create(out);
      else if (accept("?")) out = c10::OptionalType::create(out);
      else return out;
    }
  }

  c10::TypePtr base_type() {
    static const std::unordered_map<std::string, c10::TypePtr> kSimple{
        {"Tensor", c10::TensorType::get()},   {"int", c10::IntType::get()},
        {"float", c10::FloatType::get()},     {"bool", c10::BoolType::get()},
        {"complex", c10::ComplexType::get()}, {"str", c10::StringType::get()},
        {"Scalar", c10::NumberType::get()},   {"NoneType", c10::NoneType::get()},
        {"None", c10::NoneType::get()},       {"Device", c10::DeviceObjType::get()},
        {"Any", c10::AnyType::get()},         {"Generator", c10::GeneratorType::get()},
    };
    std::string name = word();
    auto simple = kSimple.find(name);
    if (simple != kSimple.end()) return simple->second;
    if (name != "List" && name != "Dict" && name != "Optional" && name != "Tuple" && name != "Union" &&
        name != "Future")
      fail("unknown type '" + name + "'");
    expect("[");
    std::vector<c10::TypePtr> inner;
    list("]", [&] { inner.push_back(type()); });
    if (name == "Tuple") return c10::TupleType::create(std::move(inner));
    if (name == "Union") return c10::UnionType::create(std::move(inner));
    if (inner.size() != (name == "Dict" ? 2 : 1)) fail("wrong number of types in " + name);
    if (name == "List") return c10::ListType::create(inner[0]);
    if (name == "Optional") return c10::OptionalType::create(inner[0]);
    if (name == "Future") return c10::FutureType::create(inner[0]);
    return c10::DictType::create(inner[0], inner[1]);
  }

  // Constants -------------------------------------------------------------------------------------------------------

  const at::Tensor& tensor() {
    int64_t index = integer();
    if (index < 0 || static_cast<size_t>(index) >= constants_.size())
      fail("there is no tensor constant " + std::to_string(index));
    return constants_[index];
  }

  double floating() {
    c10::IValue value = literal(nullptr);
    if (value.isInt()) return static_cast<double>(value.toInt());
    if (!value.isDouble()) fail("expected a number");
    return value.toDouble();
  }

  c10::IValue number() {
    size_t stop = text_.find_first_not_of("+-.0123456789einfa", at_);
    std::string_view token = text_.substr(at_, stop == std::string_view::npos ? stop : stop - at_);
    if (token.find_first_of(".ein") == std::string_view::npos) return integer();
    double value = 0;
    if (std::from_chars(token.data(), token.data() + token.size(), value).ptr != token.data() + token.size())
      fail("expected a constant" + found());
    at_ += token.size();
    return value;
  }

  // The type says what a list holds; where it does not, the elements do.
  c10::IValue literal(c10::TypePtr type) {
    while (type && type->kind() == c10::TypeKind::OptionalType)
      type = type->expectRef<c10::OptionalType>().getElementType();
    if (accept("None")) return {};
    if (accept("True")) return true;
    if (accept("False")) return false;
    if (looks_at("\"")) return string();
    if (accept("complex(")) {
      double real = floating();
      expect(",");
      double imaginary = floating();
      expect(")");
      return c10::complex<double>(real, imaginary);
    }
    if (accept("device(")) {
      c10::Device device(string());
      expect(")");
      return device;
    }
    if (accept("tensor(")) {
      at::Tensor out = tensor();
      expect(")");
      return out;
    }
    if (accept("[")) return list_literal(type);
    if (accept("(")) return tuple_literal(type);
    return number();
  }

  c10::IValue list_literal(const c10::TypePtr& type) {
    c10::TypePtr element;
    if (type && type->kind() == c10::TypeKind::ListType) element = type->expectRef<c10::ListType>().getElementType();
    std::vector<c10::IValue> values;
    list("]", [&] { values.push_back(literal(element)); });
    if (!element) element = values.empty() ? c10::TypePtr(c10::AnyType::get()) : values[0].type<c10::Type>();
    c10::impl::GenericList out(element);
    for (auto& value : values) {
      if (!value.type()->isSubtypeOf(*element)) fail("element does not fit a list of " + element->annotation_str());
      out.push_back(std::move(value));
    }
    return out;
  }

  c10::IValue tuple_literal(const c10::TypePtr& type) {
    auto elements =
        type && type->kind() == c10::TypeKind::TupleType ? type->containedTypes() : at::ArrayRef<c10::TypePtr>();
    std::vector<c10::IValue> values;
    list(")", [&] { values.push_back(literal(values.size() < elements.size() ? elements[values.size()] : nullptr)); });
    return c10::ivalue::Tuple::create(std::move(values));
  }

  // Graph -----------------------------------------------------------------------------------------------------------

  struct Declaration {
    std::string name;
    c10::TypePtr type;
  };

  std::string value_name() {
    expect("%");
    return word();
  }

  Declaration declaration() {
    std::string name = value_name();
    expect(":");
    return {std::move(name), type()};
  }

  void define(const std::string& name, Value* value) {
    if (!values_.emplace(name, value).second) fail("%" + name + " is defined twice");
  }

  std::vector<Value*> references() {
    std::vector<Value*> out;
    expect("(");
    list(")", [&] {
      std::string name = value_name();
      auto known = values_.find(name);
      if (known == values_.end()) fail("%" + name + " is not defined");
      out.push_back(known->second);
    });
    return out;
  }

  void params(Block* block) {
    expect("(");
    list(")", [&] {
      Declaration made = declaration();
      define(made.name, graph_->add_param(block, made.type, made.name));
    });
  }

  void nodes(Block* block) {
    while (!looks_at("->") && !looks_at("return") && at_ < text_.size()) node(block);
  }

  void node(Block* block) {
    std::vector<Declaration> outputs;
    if (looks_at("%")) {
      do outputs.push_back(declaration());
      while (accept(","));
      expect("=");
    }
    Node* node = create(operator_key());
    attributes(node, outputs.empty() ? nullptr : outputs[0].type);
    for (Value* value : references()) graph_->add_input(node, value);
    comment(node);
    graph_->append(block, node);
    for (int i = 0; looks_at("block" + std::to_string(i) + "("); ++i) {
      word();
      Block* inner = graph_->add_block(node);
      params(inner);
      expect(":");
      nodes(inner);
      expect("->");
      for (Value* value : references()) graph_->add_result(inner, value);
    }
    for (Declaration& made : outputs) define(made.name, graph_->add_output(node, made.type, made.name));
  }

  Node* create(const std::string& key) {
    if (auto opcode = opcode_from_name(key)) return graph_->create(*opcode);
    const Operator* op = find_operator(key);
    if (!op) fail("there is no operator '" + key + "'");
    return graph_->create(op);
  }

  void attributes(Node* node, const c10::TypePtr& output) {
    const auto attribute = [&](std::string_view name) {
      expect("[");
      word(name);
      expect("=");
    };
    switch (node->opcode) {
      case Opcode::kConstant:
        if (looks_at("[tensor=")) {
          attribute("tensor");
          node->constant = tensor();
        } else {
          attribute("value");
          node->constant = literal(output);
        }
        break;
      case Opcode::kGetAttr:
      case Opcode::kSetAttr:
      case Opcode::kCallMethod:
        attribute("name");
        node->name = string();
        break;
      case Opcode::kLoadState:
      case Opcode::kStoreState:
        attribute("slot");
        node->index = integer();
        break;
      case Opcode::kIsInstance:
        attribute("types");
        expect("(");
        list(")", [&] { node->types.push_back(type()); });
        break;
      default:
        return;
    }
    expect("]");
  }

  // What stands after a node on its line: for a tensor constant what it is, then the place in the source.
  void comment(Node* node) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ >= text_.size() || text_[at_] != '#') return;
    size_t stop = std::min(text_.find('\n', at_), text_.size());
    std::string_view rest = text_.substr(at_, stop - at_);
    at_ = stop;
    if (node->opcode == Opcode::kConstant && node->constant.isTensor()) {
      auto next = rest.find("  # ");
      if (next == std::string_view::npos) return;
      rest.remove_prefix(next + 2);
    }
    rest.remove_prefix(std::min<size_t>(2, rest.size()));
    node->source = source(rest);
  }

  static SourceLocation source(std::string_view text) {
    SourceLocation out;
    auto quote = text.front() == '"' ? 0 : text.find(" \"");
    if (quote != std::string_view::npos) {
      Parser inner(text.substr(quote), {});
      out.text = inner.string();
      text = text.substr(0, quote);
    }
    auto colon = text.rfind(':');
    if (colon != std::string_view::npos &&
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), out.line).ptr ==
            text.data() + text.size()) {
      text = text.substr(0, colon);
    }
    out.file = std::string(text);
    return out;
  }

  std::string_view text_;
  std::span<const at::Tensor> constants_;
  size_t at_ = 0;
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text, std::span<const at::Tensor> constants) {
  return Parser(text, constants).graph();
}

c10::TypePtr parse_type(std::string_view text) { return Parser(text, {}).whole_type(); }

}  // namespace stator
