#include "frontend/torchscript/source_check.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/archive.h"
#include "graph/error.h"

namespace stator {
namespace {

// LibTorch breaks what it writes into short lines; threads of the JVM have a megabyte of stack, of which a level takes up to 1.5 KB.
constexpr size_t kDeepestSource = 500;

// How deep the tree of an expression can be, by its text: each bracket and each operator may stand above what follows, up to the comma.
class Depth {
 public:
  size_t deepest() const { return deepest_; }

  void read(std::string_view source) {
    for (size_t i = 0; i < source.size(); ++i) {
      const char c = source[i];
      if (c == '"' || c == '\'') {
        i = end_of_text(source, i);
      } else if (c == '\n') {
        start_line(source.substr(i + 1));
      } else {
        read(c);
      }
    }
  }

 private:
  static size_t end_of_text(std::string_view source, size_t i) {
    const char quote = source[i++];
    while (i < source.size() && source[i] != quote) i += source[i] == '\\' ? 2 : 1;
    return i;
  }

  // Within brackets a line goes on.
  void start_line(std::string_view line) {
    if (levels_.size() > 1) return;
    const size_t indent = line.find_first_not_of(' ');
    restart(indent == std::string_view::npos ? 0 : indent / 2);
  }

  void read(char c) {
    // The space ends words that are operators: "not not x".
    constexpr std::string_view kOpen = "([{", kClose = ")]}", kOperators = "+-*/%&|^~<>=.@ ";
    if (kOpen.find(c) != std::string_view::npos) {
      add();
      levels_.push_back(0);
    } else if (kClose.find(c) != std::string_view::npos) {
      if (levels_.size() == 1) return;
      sum_ -= levels_.back();
      levels_.pop_back();
    } else if (c == ',') {
      restart(0);
    } else if (kOperators.find(c) != std::string_view::npos) {
      add();
    }
  }

  void add() {
    ++levels_.back();
    deepest_ = std::max(deepest_, ++sum_);
  }

  void restart(size_t count) {
    sum_ = sum_ - levels_.back() + count;
    levels_.back() = count;
    deepest_ = std::max(deepest_, sum_);
  }

  std::vector<size_t> levels_{0};  // within brackets: how many operators so far
  size_t sum_ = 0;                 // of the levels
  size_t deepest_ = 0;
};

}  // namespace

void check_sources(std::span<const char> archive) {
  for (const ArchiveMember& member : archive_members(archive)) {
    if (!member.name.ends_with(".py")) continue;
    Depth depth;
    depth.read(member_content(archive, member));
    if (depth.deepest() > kDeepestSource)
      throw Error(ErrorCode::kBadModel, "the archive is damaged: \"" + member.name + "\" is nested too deeply");
  }
}

}  // namespace stator
