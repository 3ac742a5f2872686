#include "frontend/export/guards.h"

#include <array>
#include <utility>

#include "frontend/export/arithmetic.h"

namespace stator::exported {
namespace {

using SizeKind = SizeExpression::Kind;
using Comparison = SizeCondition::Comparison;

constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons{{
    {"==", Comparison::kEqual},
    {"!=", Comparison::kUnequal},
    {"<=", Comparison::kLessOrEqual},
    {">=", Comparison::kGreaterOrEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
}};

class Reader final : ArithmeticReader {
 public:
  Reader(std::string_view text, const ResolveInput& resolve) : ArithmeticReader(text), resolve_(resolve) {}

  std::vector<SizeCondition> read() {
    std::vector<SizeCondition> out;
    do {
      out.push_back(condition());
    } while (take_word("and"));
    if (!at_end()) throw NotUnderstood();
    return out;
  }

 private:
  bool take_word(std::string_view wanted) {
    if (at_end()) return false;
    const std::string_view rest = text_.substr(position_);
    if (!rest.starts_with(wanted) || (rest.size() > wanted.size() && rest[wanted.size()] != ' ')) return false;
    position_ += wanted.size();
    return true;
  }

  SizeCondition condition() {
    SizeCondition out;
    if (at_end()) throw NotUnderstood();
    const size_t start = position_;
    out.left = sum();
    bool compared = false;
    for (const auto& [sign, comparison] : kComparisons) {
      if (compared || !take(sign)) continue;
      out.comparison = comparison;
      compared = true;
    }
    if (!compared) throw NotUnderstood();
    out.right = sum();
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

  SizeExpression operand(int depth) override {
    if (take("max(")) return extreme(SizeKind::kGreatest, depth);
    if (take("min(")) return extreme(SizeKind::kLeast, depth);
    expect("L");
    return input();
  }

  SizeExpression extreme(SizeKind kind, int depth) {
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

  const ResolveInput& resolve_;
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
