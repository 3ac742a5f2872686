#include "frontend/export/guards.h"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace stator::exported {
namespace {

using Kind = SizeExpression::Kind;
using Comparison = SizeCondition::Comparison;

constexpr int kDeepest = 64;

constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons{{
    {"==", Comparison::kEqual},
    {"!=", Comparison::kUnequal},
    {"<=", Comparison::kLessOrEqual},
    {">=", Comparison::kGreaterOrEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
}};

SizeExpression number(int64_t value) {
  SizeExpression out;
  out.number = value;
  return out;
}

SizeExpression combined(Kind kind, SizeExpression left, SizeExpression right) {
  SizeExpression out;
  out.kind = kind;
  out.operands.push_back(std::move(left));
  out.operands.push_back(std::move(right));
  return out;
}

// Thrown where a guard is something else; never leaves this file.
struct NotUnderstood {};

class Reader {
 public:
  Reader(std::string_view text, const ResolveInput& resolve) : text_(text), resolve_(resolve) {}

  std::vector<SizeCondition> read() {
    std::vector<SizeCondition> out;
    do {
      out.push_back(condition());
    } while (take_word("and"));
    skip_space();
    if (position_ != text_.size()) throw NotUnderstood();
    return out;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool take(std::string_view wanted) {
    skip_space();
    if (!text_.substr(position_).starts_with(wanted)) return false;
    position_ += wanted.size();
    return true;
  }
  void expect(std::string_view wanted) {
    if (!take(wanted)) throw NotUnderstood();
  }
  bool take_word(std::string_view wanted) {
    skip_space();
    const std::string_view rest = text_.substr(position_);
    if (!rest.starts_with(wanted) || (rest.size() > wanted.size() && rest[wanted.size()] != ' ')) return false;
    position_ += wanted.size();
    return true;
  }

  SizeCondition condition() {
    SizeCondition out;
    skip_space();
    const size_t start = position_;
    out.left = sum(0);
    bool compared = false;
    for (const auto& [sign, comparison] : kComparisons) {
      if (compared || !take(sign)) continue;
      out.comparison = comparison;
      compared = true;
    }
    if (!compared) throw NotUnderstood();
    out.right = sum(0);
    out.text = readable(text_.substr(start, position_ - start));
    return out;
  }

  // x.size()[0] for L['x'].size()[0]
  static std::string readable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (!text.substr(i).starts_with("L['")) {
        out += text[i];
        continue;
      }
      const size_t end = text.find("']", i);
      out += text.substr(i + 3, end - i - 3);
      i = end + 1;
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

  SizeExpression sum(int depth) {
    if (depth > kDeepest) throw NotUnderstood();
    SizeExpression out = product(depth);
    for (;;) {
      if (take("+")) {
        out = combined(Kind::kSum, std::move(out), product(depth));
      } else if (take("-")) {
        out = combined(Kind::kSum, std::move(out), combined(Kind::kProduct, number(-1), product(depth)));
      } else {
        return out;
      }
    }
  }

  SizeExpression product(int depth) {
    SizeExpression out = power(depth);
    for (;;) {
      if (take("//")) {
        out = combined(Kind::kFloorQuotient, std::move(out), power(depth));
      } else if (take("%")) {
        out = combined(Kind::kRemainder, std::move(out), power(depth));
      } else if (take("*")) {
        out = combined(Kind::kProduct, std::move(out), power(depth));
      } else {
        return out;
      }
    }
  }

  SizeExpression power(int depth) {
    if (take("-")) return combined(Kind::kProduct, number(-1), power(depth + 1));
    SizeExpression out = value(depth);
    return take("**") ? combined(Kind::kPower, std::move(out), power(depth + 1)) : out;
  }

  SizeExpression value(int depth) {
    if (depth > kDeepest) throw NotUnderstood();
    if (take("(")) {
      SizeExpression out = sum(depth + 1);
      expect(")");
      return out;
    }
    if (take("max(")) return extreme(Kind::kGreatest, depth);
    if (take("min(")) return extreme(Kind::kLeast, depth);
    if (take("L")) return input();
    return number(whole_number());
  }

  SizeExpression extreme(Kind kind, int depth) {
    SizeExpression left = sum(depth + 1);
    expect(",");
    SizeExpression out = combined(kind, std::move(left), sum(depth + 1));
    expect(")");
    return out;
  }

  SizeExpression input() {
    std::vector<c10::IValue> path;
    while (take("[")) {
      if (take("'")) {
        const size_t end = text_.find('\'', position_);
        if (end == std::string_view::npos) throw NotUnderstood();
        path.emplace_back(std::string(text_.substr(position_, end - position_)));
        position_ = end + 1;
      } else {
        path.emplace_back(whole_number());
      }
      expect("]");
    }
    int64_t dimension = -1;
    if (take(".size()[")) {
      dimension = whole_number();
      if (dimension < 0) throw NotUnderstood();
      expect("]");
    }
    const auto found = resolve_(path, dimension);
    if (!found) throw NotUnderstood();
    return *found;
  }

  int64_t whole_number() {
    skip_space();
    int64_t out = 0;
    auto [end, failure] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), out);
    if (failure != std::errc()) throw NotUnderstood();
    position_ = static_cast<size_t>(end - text_.data());
    // 2.5 and the like
    if (position_ < text_.size() && (text_[position_] == '.' || text_[position_] == 'e')) throw NotUnderstood();
    return out;
  }

  std::string_view text_;
  const ResolveInput& resolve_;
  size_t position_ = 0;
};

}  // namespace

std::optional<std::vector<SizeCondition>> parse_guard(std::string_view text, const ResolveInput& resolve) {
  try {
    return Reader(text, resolve).read();
  } catch (const NotUnderstood&) {
    return std::nullopt;
  }
}

}  // namespace stator::exported
