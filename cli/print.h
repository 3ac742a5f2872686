// What the commands write for people: tables, sizes, tensor types; and errors.
#pragma once

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

struct stator_value;

namespace cli {

using Json = nlohmann::ordered_json;

// Columns as wide as their widest cell, two spaces between, the last one ragged. Empty columns are left out.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  std::string str(std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string format_bytes(int64_t bytes);  // 1.4 MiB
std::string format_number(double value);  // three digits or more
std::string format_tensor_type(const std::string& dtype,
                               const std::vector<int64_t>& shape);  // float32[1, 32]; -1 is any size
std::string plural(int64_t count, std::string_view noun);           // 1 node, 2 nodes

Json parse_json(const std::string& text,
                const char* what);  // throws Failure (INTERNAL) if the library gave something else
void print_json(const Json& json);  // to stdout, one object, indented

// Writes what went wrong to stderr, as one block or as JSON, and gives the exit code: 1 the model or the run, 2 the command line.
int report(const std::exception& error, bool json);

}  // namespace cli
