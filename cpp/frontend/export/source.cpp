#include "frontend/export/source.h"

#include <charconv>

namespace stator::exported {
namespace {

constexpr std::string_view kFile = "File \"";
constexpr size_t kLongest = 100;  // characters of an expression

std::string_view without_indent(std::string_view line) {
  const size_t start = line.find_first_not_of(' ');
  return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

// `frame` begins behind `File "`: model.py", line 41, in forward, and the source's line follows.
SourceLocation read_frame(std::string_view frame) {
  SourceLocation out;
  const std::string_view path = frame.substr(0, frame.find('"'));
  const size_t slash = path.rfind('/');
  out.file = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  constexpr std::string_view kLine = "\", line ";
  if (const size_t at = frame.find(kLine); at == path.size())
    std::from_chars(frame.data() + at + kLine.size(), frame.data() + frame.size(), out.line);
  if (const size_t end = frame.find('\n'); end != std::string_view::npos) {
    const std::string_view rest = frame.substr(end + 1);
    out.text = without_indent(rest.substr(0, rest.find('\n'))).substr(0, kLongest);
  }
  return out;
}

}  // namespace

SourceLocation innermost_line(std::string_view stack_trace) {
  SourceLocation innermost;
  for (size_t end = stack_trace.size(); end > 0;) {
    const size_t at = stack_trace.substr(0, end).rfind(kFile);
    if (at == std::string_view::npos) break;
    const std::string_view frame = stack_trace.substr(at + kFile.size());
    const std::string_view path = frame.substr(0, frame.find('"'));
    const bool of_torch = path.starts_with("torch/") || path.find("/torch/") != std::string_view::npos;
    if (!of_torch) return read_frame(frame);
    if (!innermost.known()) innermost = read_frame(frame);
    end = at;
  }
  return innermost;
}

}  // namespace stator::exported
