#include "values/npy.h"

#include <charconv>
#include <cstring>

#include "graph/error.h"

namespace stator {
namespace {

constexpr size_t kMaxDimensions = 64;  // numpy's and DLPack's limit

struct NumpyType {
  const char* name;  // without the byte order
  at::ScalarType dtype;
};

constexpr NumpyType kTypes[] = {
    {"b1", at::kBool},         {"i1", at::kChar},           {"i2", at::kShort},  {"i4", at::kInt},
    {"i8", at::kLong},         {"u1", at::kByte},           {"u2", at::kUInt16}, {"u4", at::kUInt32},
    {"u8", at::kUInt64},       {"f2", at::kHalf},           {"f4", at::kFloat},  {"f8", at::kDouble},
    {"c8", at::kComplexFloat}, {"c16", at::kComplexDouble},
};

// Reads the few forms of Python literal that a header holds.
class Literals {
 public:
  Literals(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  [[noreturn]] void damaged(const char* why) const {
    throw Error(ErrorCode::kBadModel, what_ + ": its .npy header is damaged: " + why);
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* why) {
    if (!take(c)) damaged(why);
  }
  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  std::string text() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) damaged("a text is missing");
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) damaged("a text does not end");
    const std::string result(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    damaged("True or False is missing");
  }
  std::vector<int64_t> tuple() {
    expect('(', "a tuple is missing");
    std::vector<int64_t> result;
    while (!take(')')) {
      skip_space();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) damaged("a size is no number, or too large");
      at_ = static_cast<size_t>(end - text_.data());
      take('L');  // as Python 2 wrote it
      result.push_back(value);
      if (!take(',') && !next_is(')')) damaged("a comma is missing in the shape");
    }
    return result;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  const std::string& what_;
  size_t at_ = 0;
};

// Why a numpy dtype is refused.
std::string complaint(char order, char kind) {
  if (order == '>') return "is big-endian; save it in native order: a.astype(a.dtype.newbyteorder('='))";
  switch (kind) {
    case 'O':
      return "holds Python objects, which are not read; save numbers or bools";
    case 'U':
    case 'S':
      return "holds text, which is no tensor; save numbers or bools";
    case 'V':
      return "is raw bytes (numpy writes bfloat16 and float8 so); save such tensors by torch.save";
    case 'M':
    case 'm':
      return "holds times, which no tensor can; save them as int64";
    default:
      return "has no counterpart in PyTorch";
  }
}

at::ScalarType parse_dtype(std::string_view name, const std::string& what) {
  const char order = name.empty() ? '\0' : name[0];
  const std::string_view type = name.substr(name.empty() ? 0 : 1);
  if (order == '<' || order == '|') {
    for (const NumpyType& known : kTypes) {
      if (type == known.name) return known.dtype;
    }
  }
  throw Error(ErrorCode::kUnsupported,
              what + ": numpy dtype '" + std::string(name) + "' " + complaint(order, type.empty() ? '\0' : type[0]));
}

void check_size(const NpyHeader& header, const std::string& what) {
  if (header.shape.size() > kMaxDimensions) {
    throw Error(ErrorCode::kUnsupported,
                what + ": has " + std::to_string(header.shape.size()) + " dimensions; at most 64 can be read");
  }
  // Strides count empty dimensions as 1, so they must fit as well.
  int64_t bytes = static_cast<int64_t>(c10::elementSize(header.dtype));
  for (const int64_t size : header.shape) {
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) {
      throw Error(ErrorCode::kBadModel, what + ": its .npy header is damaged: the shape is larger than any memory");
    }
  }
}

}  // namespace

int64_t NpyHeader::bytes() const {
  int64_t result = static_cast<int64_t>(c10::elementSize(dtype));
  for (const int64_t size : shape) result *= size;
  return result;
}

std::vector<int64_t> NpyHeader::strides() const {
  std::vector<int64_t> result(shape.size());
  int64_t step = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t dim = fortran_order ? i : shape.size() - 1 - i;
    result[dim] = step;
    step *= std::max<int64_t>(shape[dim], 1);
  }
  return result;
}

NpyHeader parse_npy_header(std::string_view text, const std::string& what) {
  Literals in(text, what);
  NpyHeader header;
  bool has_dtype = false;
  bool has_order = false;
  bool has_shape = false;
  in.expect('{', "it is no dict");
  while (!in.take('}')) {
    const std::string key = in.text();
    in.expect(':', "a colon is missing");
    if (key == "descr") {
      if (in.next_is('['))
        throw Error(ErrorCode::kUnsupported,
                    what + ": is a structured array, which is no tensor; save each field as an array");
      header.dtype = parse_dtype(in.text(), what);
      has_dtype = true;
    } else if (key == "fortran_order") {
      header.fortran_order = in.boolean();
      has_order = true;
    } else if (key == "shape") {
      header.shape = in.tuple();
      has_shape = true;
    } else {
      in.damaged("it has an unknown key");
    }
    if (!in.take(',') && !in.next_is('}')) in.damaged("a comma is missing");
  }
  if (!in.at_end()) in.damaged("something follows the dict");
  if (!has_dtype || !has_order || !has_shape) in.damaged("descr, fortran_order or shape is missing");
  check_size(header, what);
  return header;
}

std::string format_npy_header(const NpyHeader& header, const std::string& what) {
  const char* type = nullptr;
  for (const NumpyType& known : kTypes) {
    if (known.dtype == header.dtype) type = known.name;
  }
  if (type == nullptr) {
    throw Error(ErrorCode::kUnsupported, what + ": numpy has no dtype for " + c10::toString(header.dtype) +
                                             "; write a .pt file, or convert it first");
  }
  std::string dict = std::string("{'descr': '") + (c10::elementSize(header.dtype) == 1 ? '|' : '<') + type +
                     "', 'fortran_order': " + (header.fortran_order ? "True" : "False") + ", 'shape': (";
  for (const int64_t size : header.shape) dict += std::to_string(size) + ", ";
  if (header.shape.size() > 1) dict.resize(dict.size() - 2);
  if (header.shape.size() == 1) dict.resize(dict.size() - 1);
  dict += "), }";
  // The elements begin at a multiple of 64; 64 dimensions fit version 1.
  constexpr size_t kPreamble = 10;
  dict.append(63 - (kPreamble + dict.size()) % 64, ' ');
  dict += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(dict.size() & 0xff);
  result += static_cast<char>(dict.size() >> 8);
  return result + dict;
}

}  // namespace stator
