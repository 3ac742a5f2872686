#include "frontend/export/symbols.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "frontend/export/arithmetic.h"

namespace stator::exported {
namespace {

using SizeKind = SizeExpression::Kind;

constexpr std::array<std::pair<std::string_view, SizeKind>, 10> kFunctions{{
    {"Add", SizeKind::kSum},
    {"Mul", SizeKind::kProduct},
    {"Pow", SizeKind::kPower},
    {"PowByNatural", SizeKind::kPower},
    {"FloorDiv", SizeKind::kFloorQuotient},
    {"CleanDiv", SizeKind::kFloorQuotient},
    {"Mod", SizeKind::kRemainder},
    {"PythonMod", SizeKind::kRemainder},
    {"Min", SizeKind::kLeast},
    {"Max", SizeKind::kGreatest},
}};

// Names of sympy's that are no symbols.
constexpr std::array<std::string_view, 8> kConstants{"true", "false", "True", "False", "oo", "int_oo", "zoo", "nan"};

SizeKind function_named(std::string_view name) {
  for (const auto& [known, kind] : kFunctions) {
    if (known == name) return kind;
  }
  throw NotUnderstood();
}

SizeExpression symbol(std::string name) {
  SizeExpression out;
  out.kind = SizeKind::kSymbol;
  out.symbol = std::move(name);
  return out;
}

class SymbolReader final : ArithmeticReader {
 public:
  explicit SymbolReader(std::string_view text) : ArithmeticReader(text) {}

  SizeExpression read() {
    SizeExpression out = sum();
    if (!at_end()) throw NotUnderstood();
    return out;
  }

 private:
  std::string_view word() {
    if (at_end()) throw NotUnderstood();
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    if (position_ == start) throw NotUnderstood();
    return text_.substr(start, position_ - start);
  }

  std::string quoted() {
    if (at_end()) throw NotUnderstood();
    const char quote = text_[position_];
    const size_t end = text_.find(quote, position_ + 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) throw NotUnderstood();
    const std::string_view inside = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return std::string(inside);
  }

  // integer=True and the like.
  void assumptions() {
    while (take(",")) {
      word();
      expect("=");
      word();
    }
  }

  SizeExpression operand(int depth) override {
    const std::string_view name = word();
    if (!take("(")) {
      if (std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end()) throw NotUnderstood();
      return symbol(std::string(name));
    }
    SizeExpression out;
    if (name == "Integer") {
      out = sum(depth + 1);
    } else if (name == "Symbol") {
      out = symbol(quoted());
      assumptions();
    } else {
      out = function(function_named(name), depth);
    }
    expect(")");
    return out;
  }

  SizeExpression function(SizeKind kind, int depth) {
    SizeExpression out;
    out.kind = kind;
    do {
      out.operands.push_back(sum(depth + 1));
    } while (take(","));
    const bool of_two = kind == SizeKind::kPower || kind == SizeKind::kFloorQuotient || kind == SizeKind::kRemainder;
    if (of_two && out.operands.size() != 2) throw NotUnderstood();
    return out;
  }
};

}  // namespace

std::optional<SizeExpression> parse_symbols(std::string_view text) {
  try {
    return SymbolReader(text).read();
  } catch (const NotUnderstood&) {
    return std::nullopt;
  }
}

}  // namespace stator::exported
