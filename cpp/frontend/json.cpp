#include "frontend/json.h"

#include <limits>
#include <vector>

#include "graph/error.h"

namespace stator::json {
namespace {

// Programs nest some ten levels for each control flow operator within another. What is nested a million times takes seconds to read.
constexpr int kDeepest = 1000;

}  // namespace

void malformed(const std::string& what) { throw Error(ErrorCode::kBadModel, "the archive is damaged: " + what); }

Json parse_json(std::string_view text, const std::string& name, bool (*keep)(std::string_view, std::string_view)) {
  std::vector<std::string> keys;  // by depth
  const auto filter = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) malformed("\"" + name + "\" is nested too deeply");
    if (!keep || event != Json::parse_event_t::key) return true;
    const auto at = static_cast<size_t>(depth);
    if (keys.size() <= at) keys.resize(at + 1);
    keys[at] = parsed.get_ref<const std::string&>();
    return keep(at > 0 ? keys[at - 1] : std::string_view(), keys[at]);
  };
  try {
    return Json::parse(text.begin(), text.end(), filter);
  } catch (const Json::exception& error) {
    malformed("\"" + name + "\" is no JSON: " + error.what());
  }
}

const Json& member(const Json& object, const char* name) {
  if (!object.is_object())
    malformed(std::string("expected an object with \"") + name + "\", got " + object.type_name());
  auto found = object.find(name);
  if (found == object.end()) malformed(std::string("\"") + name + "\" is missing");
  return *found;
}

const Json* optional_member(const Json& object, const char* name) {
  if (!object.is_object())
    malformed(std::string("expected an object with \"") + name + "\", got " + object.type_name());
  auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& list(const Json& value, const char* what) {
  if (!value.is_array()) malformed(std::string(what) + ": expected a list, got " + value.type_name());
  return value;
}

const std::string& text(const Json& value, const char* what) {
  if (!value.is_string()) malformed(std::string(what) + ": expected a text, got " + value.type_name());
  return value.get_ref<const std::string&>();
}

int64_t integer(const Json& value, const char* what) {
  const bool fits = !value.is_number_unsigned() || value.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  if (!value.is_number_integer() || !fits)
    malformed(std::string(what) + ": expected an int of 64 bits, got " + value.type_name());
  return value.get<int64_t>();
}

bool boolean(const Json& value, const char* what) {
  if (!value.is_boolean()) malformed(std::string(what) + ": expected a bool, got " + value.type_name());
  return value.get<bool>();
}

double number(const Json& value, const char* what) {
  if (value.is_number()) return value.get<double>();
  const std::string& name = text(value, what);
  if (name == "Infinity") return std::numeric_limits<double>::infinity();
  if (name == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  malformed(std::string(what) + ": expected a number, got \"" + name + "\"");
}

std::pair<std::string_view, const Json*> alternative(const Json& object, const char* what) {
  if (!object.is_object()) malformed(std::string(what) + ": expected an object, got " + object.type_name());
  std::pair<std::string_view, const Json*> found{};
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (it->is_null()) continue;
    if (found.second) malformed(std::string(what) + " is two things at once");
    found = {it.key(), &*it};
  }
  if (!found.second) malformed(std::string(what) + " is empty");
  return found;
}

}  // namespace stator::json
