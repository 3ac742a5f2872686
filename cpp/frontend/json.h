// Strict reading of JSON from files that nobody vouches for: what is missing or of another type is an Error(kBadModel) that says where.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stator::json {

using Json = nlohmann::ordered_json;

// `name` is for messages. `keep` says of a key, given the one it stands below, whether to read what it holds.
Json parse_json(std::string_view text, const std::string& name,
                bool (*keep)(std::string_view parent, std::string_view key) = nullptr);

[[noreturn]] void malformed(const std::string& what);

const Json& member(const Json& object, const char* name);
// NULL if it is missing or null.
const Json* optional_member(const Json& object, const char* name);
const Json& list(const Json& value, const char* what);
const std::string& text(const Json& value, const char* what);
int64_t integer(const Json& value, const char* what);
bool boolean(const Json& value, const char* what);
// Infinities and NaN are written as texts.
double number(const Json& value, const char* what);
// An object with one member: its name says what it is. Fields that a writer left null do not count.
std::pair<std::string_view, const Json*> alternative(const Json& object, const char* what);

}  // namespace stator::json
