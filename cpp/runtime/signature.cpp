#include "runtime/signature.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "graph/error.h"
#include "values/conform.h"
#include "values/tensor_mismatch.h"

namespace stator {
namespace {

// A reader of the little language above.
class Reader {
 public:
  Reader(std::string_view text, const std::string& given_as) : text_(text), given_as_(given_as) {}

  std::vector<InputSpec> read() {
    std::vector<InputSpec> specs;
    do {
      specs.push_back(spec());
    } while (take(','));
    if (position_ != text_.size()) fail("expected ',' or the end");
    return specs;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }
  bool take(char wanted) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  std::string word(const char* what) {
    skip_space();
    size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_' ||
            text_[position_] == '.' || text_[position_] == '-' || text_[position_] == '+'))
      ++position_;
    if (position_ == start) fail(std::string("expected ") + what);
    return std::string(text_.substr(start, position_ - start));
  }
  [[noreturn]] void fail(const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, given_as_ + ": " + why + " at character " + std::to_string(position_) +
                                                 " of \"" + std::string(text_) +
                                                 "\"; write it as in \"x: float32[?, 8], mask: bool[?], steps = 3\"");
  }
  InputSpec spec() {
    InputSpec out;
    out.name = word("the name of an input");
    if (take('=')) {
      out.value = literal();
      return out;
    }
    if (!take(':')) fail("expected ':' or '='");
    if (!take('?')) {
      std::string name = word("a dtype");
      out.dtype = dtype_from_name(name);
      if (!out.dtype) fail("unknown dtype \"" + name + "\"");
    }
    if (take('[')) {
      out.shape.emplace();
      if (!take(']')) {
        do {
          out.shape->push_back(take('?') ? -1 : size());
        } while (take(','));
        if (!take(']')) fail("expected ']'");
      }
    }
    return out;
  }
  c10::IValue literal() {
    const std::string text = word("a number, true, false or none");
    if (text == "true" || text == "false") return text == "true";
    if (text == "none") return c10::IValue();
    size_t used = 0;
    try {
      if (text.find_first_of(".en") == std::string::npos) {
        const int64_t whole = std::stoll(text, &used);
        if (used == text.size()) return whole;
      } else {
        const double real = std::stod(text, &used);
        if (used == text.size()) return real;
      }
    } catch (const std::exception&) {
      // No number, or too large a one.
    }
    fail("expected a number, true, false or none");
  }
  int64_t size() {
    std::string digits = word("a size or '?'");
    if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail("expected a size or '?'");
    return std::stoll(digits);
  }

  std::string_view text_;
  const std::string& given_as_;
  size_t position_ = 0;
};

std::string text_of(const c10::IValue& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

bool InputSpec::is_fixed() const {
  if (value) return true;
  return dtype && shape && std::all_of(shape->begin(), shape->end(), [](int64_t size) { return size >= 0; });
}

std::string InputSpec::str() const {
  if (value) return text_of(*value);
  std::string out = dtype ? dtype_name(*dtype) : "?";
  if (!shape) return out;
  out += "[";
  for (size_t i = 0; i < shape->size(); ++i) {
    if (i) out += ", ";
    out += (*shape)[i] < 0 ? "?" : std::to_string((*shape)[i]);
  }
  return out + "]";
}

std::vector<InputSpec> parse_signature(std::string_view text, const std::string& given_as) {
  return Reader(text, given_as).read();
}

void check_input(const InputSpec& spec, const c10::IValue& value, int argument) {
  const auto fail = [&](ErrorCode code, const std::string& got, const std::string& why) {
    const std::string place = input_place(spec.name, argument);
    throw Error(code, place + ": expected " + spec.str() + ", got " + got + why, {"", "", "", place});
  };
  if (value.isTensor() && !spec.value) {
    const at::Tensor& tensor = value.toTensor();
    const auto sizes = spec.shape ? std::optional<at::IntArrayRef>(*spec.shape) : std::nullopt;
    if (const auto mismatch = tensor_mismatch(tensor, spec.dtype, sizes))
      fail(mismatch->code, describe_tensor(tensor), "; " + mismatch->why);
    return;
  }
  const bool fits = spec.value ? !value.isTensor() && value.equals(*spec.value).toBool() : value.isNone();
  if (!fits) fail(ErrorCode::kTypeMismatch, value.isScalar() ? text_of(value) : describe_kind(value), "");
}

}  // namespace stator
