// Sizes as exported programs state them: numbers, symbols, and sums, products and quotients of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stator {

struct SizeExpression {
  enum class Kind : uint8_t { kNumber, kSymbol, kSum, kProduct, kPower, kFloorQuotient, kRemainder, kLeast, kGreatest };
  Kind kind = Kind::kNumber;
  int64_t number = 0;                    // kNumber
  std::string symbol;                    // kSymbol
  std::vector<SizeExpression> operands;  // of the others: two for kPower, kFloorQuotient, kRemainder

  bool is_number() const { return kind == Kind::kNumber; }
  bool is_symbol() const { return kind == Kind::kSymbol; }
  std::string str() const;  // "2*s0 + 1"
};

using Symbols = std::map<std::string, int64_t>;

bool knows_all(const Symbols& symbols, const SizeExpression& expression);

// nullopt if a symbol is not known, the value does not fit, or something is divided by 0.
std::optional<int64_t> evaluate(const SizeExpression& expression, const Symbols& symbols);

struct Solution {
  std::string symbol;
  std::optional<int64_t> value;  // nullopt: no whole number will do
};

// The value of the one symbol that is not known that makes the expression `wanted`. nullopt if that cannot be said: more than one is not
// known, or the expression does not grow evenly with it.
std::optional<Solution> solve(const SizeExpression& expression, const Symbols& symbols, int64_t wanted);

}  // namespace stator
