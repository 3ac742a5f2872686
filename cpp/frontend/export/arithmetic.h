// Sums, products, quotients and powers of whole numbers as Python writes them.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/size_expression.h"

namespace stator::exported {

// Thrown where a text is something else. Whoever uses a reader makes nullopt of it.
struct NotUnderstood {};

class ArithmeticReader {
 protected:
  explicit ArithmeticReader(std::string_view text) : text_(text) {}
  ~ArithmeticReader() = default;

  // What is no number, no sum in parentheses and no minus: a name, or a call.
  virtual SizeExpression operand(int depth) = 0;

  SizeExpression sum(int depth = 0);
  int64_t whole_number();
  // Spaces before it do not count.
  bool take(std::string_view wanted);
  void expect(std::string_view wanted);
  bool at_end();

  SizeExpression combined(SizeExpression::Kind kind, SizeExpression left, SizeExpression right);

  std::string_view text_;
  size_t position_ = 0;

 private:
  SizeExpression product(int depth);
  SizeExpression power(int depth);
  SizeExpression value(int depth);
  SizeExpression negative(SizeExpression value);

  int signs_ = 0;
};

}  // namespace stator::exported
