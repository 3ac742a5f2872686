#include "frontend/export/arithmetic.h"

#include <cctype>
#include <charconv>
#include <utility>

namespace stator::exported {
namespace {

using SizeKind = SizeExpression::Kind;

// What is read becomes as deep.
constexpr int kDeepestArithmetic = 64;
constexpr int kMostSigns = 1000;

SizeExpression size_number(int64_t value) {
  SizeExpression out;
  out.number = value;
  return out;
}

}  // namespace

bool ArithmeticReader::at_end() {
  while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  return position_ == text_.size();
}

bool ArithmeticReader::take(std::string_view wanted) {
  if (at_end() || !text_.substr(position_).starts_with(wanted)) return false;
  position_ += wanted.size();
  return true;
}

void ArithmeticReader::expect(std::string_view wanted) {
  if (!take(wanted)) throw NotUnderstood();
}

int64_t ArithmeticReader::whole_number() {
  int64_t out = 0;
  if (at_end()) throw NotUnderstood();
  auto [end, failure] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), out);
  if (failure != std::errc()) throw NotUnderstood();
  position_ = static_cast<size_t>(end - text_.data());
  // 2.5 and the like
  if (position_ < text_.size() && (text_[position_] == '.' || text_[position_] == 'e')) throw NotUnderstood();
  return out;
}

SizeExpression ArithmeticReader::combined(SizeKind kind, SizeExpression left, SizeExpression right) {
  if (++signs_ > kMostSigns) throw NotUnderstood();
  SizeExpression out;
  out.kind = kind;
  out.operands.push_back(std::move(left));
  out.operands.push_back(std::move(right));
  return out;
}

SizeExpression ArithmeticReader::negative(SizeExpression value) {
  return value.is_number() ? size_number(-value.number)
                           : combined(SizeKind::kProduct, size_number(-1), std::move(value));
}

SizeExpression ArithmeticReader::sum(int depth) {
  if (depth > kDeepestArithmetic) throw NotUnderstood();
  SizeExpression out = product(depth);
  for (;;) {
    if (take("+")) {
      out = combined(SizeKind::kSum, std::move(out), product(depth));
    } else if (take("-")) {
      out = combined(SizeKind::kSum, std::move(out), negative(product(depth)));
    } else {
      return out;
    }
  }
}

SizeExpression ArithmeticReader::product(int depth) {
  SizeExpression out = power(depth);
  for (;;) {
    if (take("//")) {
      out = combined(SizeKind::kFloorQuotient, std::move(out), power(depth));
    } else if (take("%")) {
      out = combined(SizeKind::kRemainder, std::move(out), power(depth));
    } else if (take("*")) {
      out = combined(SizeKind::kProduct, std::move(out), power(depth));
    } else {
      return out;
    }
  }
}

SizeExpression ArithmeticReader::power(int depth) {
  if (depth > kDeepestArithmetic) throw NotUnderstood();
  if (take("-")) return negative(power(depth + 1));
  SizeExpression out = value(depth);
  return take("**") ? combined(SizeKind::kPower, std::move(out), power(depth + 1)) : out;
}

SizeExpression ArithmeticReader::value(int depth) {
  if (take("(")) {
    SizeExpression out = sum(depth + 1);
    expect(")");
    return out;
  }
  if (at_end()) throw NotUnderstood();
  return std::isdigit(static_cast<unsigned char>(text_[position_])) ? size_number(whole_number()) : operand(depth);
}

}  // namespace stator::exported
