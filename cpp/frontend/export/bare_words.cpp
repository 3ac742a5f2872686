#include "frontend/export/bare_words.h"

namespace stator::exported {
namespace {

// The one that stands here, or "".
std::string_view bare_word(std::string_view text) {
  for (const std::string_view word : {"Infinity", "-Infinity", "NaN"}) {
    if (text.starts_with(word)) return text.substr(0, word.size());
  }
  return "";
}

}  // namespace

std::string_view without_bare_words(std::string_view text, std::string& rewritten) {
  size_t copied = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted) ++i;
    if (quoted || (c != 'I' && c != '-' && c != 'N')) continue;
    const std::string_view word = bare_word(text.substr(i));
    if (word.empty()) continue;
    rewritten.append(text.substr(copied, i - copied)).append("\"").append(word).append("\"");
    copied = i + word.size();
    i = copied - 1;
  }
  if (copied == 0) return text;
  return rewritten.append(text.substr(copied));
}

}  // namespace stator::exported
