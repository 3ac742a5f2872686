#include "graph/size_expression.h"

#include <gtest/gtest.h>

#include "frontend/export/guards.h"
#include "frontend/export/symbols.h"

namespace stator {
namespace {

using exported::parse_guard;
using exported::parse_symbols;

SizeExpression parsed(const char* text) { return parse_symbols(text).value(); }

constexpr const char* kDouble = "Mul(Integer(2), Symbol('s0', positive=True, integer=True))";
constexpr const char* kMixed = "Add(Integer(-1), FloorDiv(Symbol('a'), Integer(3)), Mod(Symbol('b'), Integer(4)))";

TEST(SizeExpression, is_read_and_printed) {
  EXPECT_EQ(parsed(kDouble).str(), "2*s0");
  EXPECT_EQ(parsed(kMixed).str(), "-1 + a//3 + b % 4");
  EXPECT_EQ(parsed("Max(Integer(1), Symbol('s'))").str(), "max(1, s)");
}

TEST(SizeExpression, is_evaluated_as_python_does) {
  EXPECT_EQ(evaluate(parsed(kDouble), {{"s0", 21}}), 42);
  EXPECT_EQ(evaluate(parsed(kMixed), {{"a", -7}, {"b", -1}}), -1 - 3 + 3);
  EXPECT_EQ(evaluate(parsed("Pow(Symbol('s'), Integer(3))"), {{"s", 5}}), 125);
}

TEST(SizeExpression, has_no_value_where_there_is_none) {
  EXPECT_EQ(evaluate(parsed(kDouble), {}), std::nullopt);
  EXPECT_EQ(evaluate(parsed(kDouble), {{"s0", INT64_MAX}}), std::nullopt);
  EXPECT_EQ(evaluate(parsed("FloorDiv(Integer(1), Symbol('s'))"), {{"s", 0}}), std::nullopt);
}

TEST(SizeExpression, is_solved_for_one_symbol) {
  const auto even = solve(parsed(kDouble), {}, 14);
  ASSERT_TRUE(even);
  EXPECT_EQ(even->symbol, "s0");
  EXPECT_EQ(even->value, 7);
  EXPECT_EQ(solve(parsed(kDouble), {}, 7)->value, std::nullopt);
  EXPECT_FALSE(solve(parsed(kMixed), {}, 7));
}

TEST(SizeExpression, is_read_as_torch_2_5_writes_it) {
  EXPECT_EQ(parsed("s0").str(), "s0");
  EXPECT_EQ(parsed("2*s0 - 1").str(), parsed("Add(Mul(Integer(2), Symbol('s0')), Integer(-1))").str());
  EXPECT_EQ(parsed("((s0//2)) + Mod(s1, 4)").str(), "s0//2 + s1 % 4");
  EXPECT_EQ(evaluate(parsed("Max(0, s0**2 - 10)"), {{"s0", 5}}), 15);
}

TEST(SizeExpression, that_is_something_else_is_unknown) {
  for (const char* text : {"", "Mul(", "Mul(Integer(2)", "Symbol('s", "Symbol(s)", "Integer(99999999999999999999)",
                           "Mod(Integer(1))", "Floor(Symbol('s'))", "s0/2", "s0 s1", "0.5*s0", "2*oo", "s0 +"})
    EXPECT_FALSE(parse_symbols(text)) << text;
}

TEST(SizeExpression, that_is_deep_is_unknown) {
  for (const char* part : {"Add(", "(", "-", "1+", "2**", "1//"}) {
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i) deep += part;
    EXPECT_FALSE(parse_symbols(deep + "1")) << part;
  }
}

std::optional<SizeExpression> resolve(const std::vector<c10::IValue>& path, int64_t dimension) {
  SizeExpression out;
  out.kind = SizeExpression::Kind::kSymbol;
  out.symbol = path.at(0).toStringRef() + std::to_string(path.size()) + "_" + std::to_string(dimension);
  return out;
}

TEST(Guard, becomes_conditions) {
  const auto conditions =
      parse_guard("(L['x']['k'][0].size()[1] % 2) == 0 and -L['n'] + 3 <= 2*L['x'].size()[0]", resolve);
  ASSERT_TRUE(conditions);
  ASSERT_EQ(conditions->size(), 2);
  EXPECT_EQ(conditions->at(0).text, "(x['k'][0].size()[1] % 2) == 0");
  EXPECT_EQ(conditions->at(0).left.str(), "x3_1 % 2");
  EXPECT_EQ(conditions->at(1).comparison, SizeCondition::Comparison::kLessOrEqual);
  EXPECT_EQ(evaluate(conditions->at(1).left, {{"n1_-1", 5}}), -2);
}

TEST(Guard, that_says_more_is_not_understood) {
  for (const char* text : {"", "L['x'].size()[0]", "math.trunc(L['n']) == 2", "L['n'] > 2.5",
                           "L['n'] > 1 or L['n'] < 5", "not L['n'] > 1", "L['x", "((((", "L['n'] > 1 2"})
    EXPECT_FALSE(parse_guard(text, resolve)) << text;
}

}  // namespace
}  // namespace stator
