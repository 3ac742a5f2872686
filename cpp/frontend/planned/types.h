// Types as rows of a table, each made of rows before it.
#pragma once

#include <ATen/core/jit_type.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/json.h"

namespace stator::planned {

using json::Json;

class TypeWriter {
 public:
  // The row. Throws Error(kUnsupported) for a type that has no form here.
  int64_t add(const c10::TypePtr& type);
  const Json& rows() const { return rows_; }
  // Classes, interfaces and enumerations met so far, which rows only name.
  const std::vector<c10::NamedTypePtr>& classes() const { return classes_; }

 private:
  Json row_of(const c10::TypePtr& type);

  Json rows_ = Json::array();
  std::map<std::string, int64_t> known_;
  std::vector<c10::NamedTypePtr> classes_;
};

class TypeReader {
 public:
  // `find_class` gives the class, interface or enumeration of that name, or throws.
  TypeReader(const Json& rows, const std::function<c10::TypePtr(const std::string&)>& find_class);

  const c10::TypePtr& operator[](const Json& row) const;

 private:
  c10::TypePtr read(const Json& row, const std::function<c10::TypePtr(const std::string&)>& find_class) const;

  std::vector<c10::TypePtr> types_;
};

}  // namespace stator::planned
