#include "print.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "handles.h"

namespace cli {
namespace {

size_t width(std::string_view text) {  // code points
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string Table::str(std::string_view indent) const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns, 0);
  for (size_t column = 0; column < columns; ++column) {
    const bool used =
        std::any_of(rows_.begin() + 1, rows_.end(), [&](const auto& row) { return !row[column].empty(); });
    if (!used) continue;
    for (const auto& row : rows_) widths[column] = std::max(widths[column], width(row[column]));
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t column = 0; column < columns; ++column) {
      if (widths[column] == 0) continue;
      line += row[column];
      line.append(widths[column] - width(row[column]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

std::string format_bytes(int64_t bytes) {
  if (bytes < 1024) return plural(bytes, "byte");
  constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
  return text.data();
}

std::string format_number(double value) {
  std::array<char, 32> text{};
  const int decimals = value == 0 ? 0 : std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 3);
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string format_tensor_type(const std::string& dtype, const std::vector<int64_t>& shape) {
  std::string result = dtype + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + (shape[i] < 0 ? std::string("?") : std::to_string(shape[i]));
  return result + "]";
}

std::string plural(int64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

Json parse_json(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Failure(STATOR_INTERNAL, std::string(what) + " gave no JSON object: please report it");
  return json;
}

void print_json(const Json& json) { std::cout << dump(json) << std::endl; }

int report(const std::exception& error, bool json) {
  const auto* failure = dynamic_cast<const Failure*>(&error);
  const bool usage = dynamic_cast<const UsageError*>(&error) != nullptr;
  const std::string code = usage ? "USAGE" : stator_status_name(failure ? failure->code : STATOR_INTERNAL);
  std::vector<std::pair<const char*, std::string>> places;
  if (failure)
    places = {{"operator", failure->op},
              {"node", failure->node},
              {"source", failure->source},
              {"argument", failure->argument}};
  std::erase_if(places, [](const auto& place) { return place.second.empty(); });

  std::cout.flush();
  if (json) {
    Json out = {{"code", code}, {"message", error.what()}};
    for (const auto& [name, text] : places) out[name] = text;
    std::cerr << dump({{"error", out}}) << std::endl;
  } else {
    std::string block = "stator: " + code + ": " + error.what() + '\n';
    for (const auto& [name, text] : places)
      block += "  " + (std::string(name) + ':').append(10 - std::string_view(name).size(), ' ') + text + '\n';
    std::cerr << block << std::flush;
  }
  return usage ? 2 : 1;
}

}  // namespace cli
