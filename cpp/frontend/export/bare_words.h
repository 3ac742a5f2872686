// Python writes infinities and NaN as bare words, which is no JSON, unless it is told not to. torch 2.5 did not tell it.
#pragma once

#include <string>
#include <string_view>

namespace stator::exported {

// Makes texts of them, as later versions of torch write them. What is returned is `text` if it has none, else `rewritten`.
std::string_view without_bare_words(std::string_view text, std::string& rewritten);

}  // namespace stator::exported
