#include "frontend/export/symbols.h"

#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

#include "graph/error.h"

namespace stator::exported {
namespace {

using Kind = SizeExpression::Kind;

constexpr int kDeepest = 64;

constexpr std::array<std::pair<std::string_view, Kind>, 10> kFunctions{{
    {"Add", Kind::kSum},
    {"Mul", Kind::kProduct},
    {"Pow", Kind::kPower},
    {"PowByNatural", Kind::kPower},
    {"FloorDiv", Kind::kFloorQuotient},
    {"CleanDiv", Kind::kFloorQuotient},
    {"Mod", Kind::kRemainder},
    {"PythonMod", Kind::kRemainder},
    {"Min", Kind::kLeast},
    {"Max", Kind::kGreatest},
}};

std::optional<Kind> function_named(std::string_view name) {
  for (const auto& [known, kind] : kFunctions) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<SizeExpression> read() {
    SizeExpression out = expression(0);
    skip_space();
    if (position_ != text_.size()) fail();
    return known_ ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kBadModel, "a size is no expression of sympy at character " + std::to_string(position_) +
                                          ": " + std::string(text_.substr(0, 200)));
  }

  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool take(char wanted) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail();
  }
  std::string_view word() {
    skip_space();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    if (position_ == start) fail();
    return text_.substr(start, position_ - start);
  }
  int64_t whole_number() {
    skip_space();
    int64_t value = 0;
    auto [end, failure] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (failure != std::errc()) fail();
    position_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  std::string quoted() {
    skip_space();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) fail();
    const char quote = text_[position_++];
    const size_t start = position_;
    position_ = text_.find(quote, start);
    if (position_ == std::string_view::npos) {
      position_ = start;
      fail();
    }
    return std::string(text_.substr(start, position_++ - start));
  }
  // integer=True and the like.
  void assumptions() {
    while (take(',')) {
      word();
      expect('=');
      word();
    }
  }

  SizeExpression expression(int depth) {
    if (depth > kDeepest) fail();
    SizeExpression out;
    skip_space();
    if (position_ < text_.size() &&
        (text_[position_] == '-' || std::isdigit(static_cast<unsigned char>(text_[position_])))) {
      out.number = whole_number();
      return out;
    }
    const std::string_view name = word();
    if (!take('(')) {
      known_ = false;  // true, oo
      return out;
    }
    if (name == "Integer") {
      out.number = whole_number();
    } else if (name == "Symbol") {
      out.kind = Kind::kSymbol;
      out.symbol = quoted();
      assumptions();
    } else {
      read_function(name, out, depth);
    }
    expect(')');
    return out;
  }

  void read_function(std::string_view name, SizeExpression& out, int depth) {
    const auto kind = function_named(name);
    known_ &= kind.has_value();
    out.kind = kind.value_or(Kind::kSum);
    do {
      out.operands.push_back(expression(depth + 1));
    } while (take(','));
    const bool of_two = kind == Kind::kPower || kind == Kind::kFloorQuotient || kind == Kind::kRemainder;
    if (of_two && out.operands.size() != 2) fail();
  }

  std::string_view text_;
  size_t position_ = 0;
  bool known_ = true;
};

}  // namespace

std::optional<SizeExpression> parse_symbols(std::string_view text) { return Reader(text).read(); }

}  // namespace stator::exported
