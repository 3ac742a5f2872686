#include "frontend/export/bare_words.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(BareWords, become_texts) {
  std::string rewritten;
  EXPECT_EQ(exported::without_bare_words(R"([Infinity, {"a": -Infinity}, NaN, -1, null])", rewritten),
            R"(["Infinity", {"a": "-Infinity"}, "NaN", -1, null])");
}

TEST(BareWords, within_texts_stay_as_they_are) {
  const std::string_view text = R"(["NaN", "x = \"-Infinity\"", "\\", {"Infinity": -2}])";
  std::string rewritten;
  EXPECT_EQ(exported::without_bare_words(text, rewritten).data(), text.data());
  EXPECT_TRUE(rewritten.empty());
}

}  // namespace
}  // namespace stator
