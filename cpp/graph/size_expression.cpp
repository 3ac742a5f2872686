#include "graph/size_expression.h"

#include <algorithm>
#include <set>

namespace stator {
namespace {

using Kind = SizeExpression::Kind;

std::optional<int64_t> sum(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<int64_t> product(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  constexpr int64_t kLargestExponent = 63;
  if (exponent < 0 || exponent > kLargestExponent) return std::nullopt;
  std::optional<int64_t> out = 1;
  for (int64_t i = 0; out && i < exponent; ++i) out = product(*out, base);
  return out;
}

// Rounds down, as Python does.
std::optional<int64_t> floor_quotient(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<int64_t> remainder(int64_t a, int64_t b) {
  const auto quotient = floor_quotient(a, b);
  if (!quotient) return std::nullopt;
  return a - *quotient * b;
}

std::optional<int64_t> apply(Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Kind::kSum:
      return sum(a, b);
    case Kind::kProduct:
      return product(a, b);
    case Kind::kPower:
      return power(a, b);
    case Kind::kFloorQuotient:
      return floor_quotient(a, b);
    case Kind::kRemainder:
      return remainder(a, b);
    case Kind::kLeast:
      return std::min(a, b);
    case Kind::kGreatest:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

void collect(const SizeExpression& expression, std::set<std::string>& symbols) {
  if (expression.is_symbol()) symbols.insert(expression.symbol);
  for (const SizeExpression& operand : expression.operands) collect(operand, symbols);
}

const char* sign(Kind kind) {
  switch (kind) {
    case Kind::kSum:
      return " + ";
    case Kind::kProduct:
      return "*";
    case Kind::kPower:
      return "**";
    case Kind::kFloorQuotient:
      return "//";
    case Kind::kRemainder:
      return " % ";
    default:
      return ", ";
  }
}

}  // namespace

std::string SizeExpression::str() const {
  if (is_number()) return std::to_string(number);
  if (is_symbol()) return symbol;
  std::string out;
  for (const SizeExpression& operand : operands) {
    const bool nested = !operand.operands.empty() && kind != Kind::kSum;
    out += (out.empty() ? "" : sign(kind)) + (nested ? "(" + operand.str() + ")" : operand.str());
  }
  if (kind == Kind::kLeast) return "min(" + out + ")";
  if (kind == Kind::kGreatest) return "max(" + out + ")";
  return out;
}

bool knows_all(const Symbols& symbols, const SizeExpression& expression) {
  if (expression.is_symbol()) return symbols.count(expression.symbol) != 0;
  return std::all_of(expression.operands.begin(), expression.operands.end(),
                     [&](const SizeExpression& operand) { return knows_all(symbols, operand); });
}

std::optional<int64_t> evaluate(const SizeExpression& expression, const Symbols& symbols) {
  if (expression.is_number()) return expression.number;
  if (expression.is_symbol()) {
    auto found = symbols.find(expression.symbol);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<int64_t> out;
  for (const SizeExpression& operand : expression.operands) {
    const auto value = evaluate(operand, symbols);
    if (!value) return std::nullopt;
    out = out ? apply(expression.kind, *out, *value) : value;
    if (!out) return std::nullopt;
  }
  return out;
}

std::optional<Solution> solve(const SizeExpression& expression, const Symbols& symbols, int64_t wanted) {
  std::set<std::string> unknown;
  collect(expression, unknown);
  for (const auto& [symbol, value] : symbols) unknown.erase(symbol);
  if (unknown.size() != 1) return std::nullopt;
  Symbols trial = symbols;
  const auto at = [&](int64_t value) {
    trial[*unknown.begin()] = value;
    return evaluate(expression, trial);
  };
  const auto zero = at(0), one = at(1), two = at(2);
  if (!zero || !one || !two || *two - *one != *one - *zero || *one == *zero) return std::nullopt;
  const auto distance = sum(wanted, -*zero);
  if (!distance) return std::nullopt;
  const auto value = floor_quotient(*distance, *one - *zero);
  return Solution{*unknown.begin(), value && at(*value) == wanted ? value : std::nullopt};
}

}  // namespace stator
