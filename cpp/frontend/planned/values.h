// Constants and what state begins with. Numbers and texts are written where they stand; containers are rows of a table, each made of rows
// before it, so that what is one object stays one.
#pragma once

#include <ATen/core/ivalue.h>

#include <unordered_map>
#include <vector>

#include "frontend/planned/tensors.h"
#include "frontend/planned/types.h"

namespace stator::planned {

class ValueWriter {
 public:
  ValueWriter(TypeWriter& types, TensorWriter& tensors) : types_(types), tensors_(tensors) {}

  // Throws Error(kUnsupported) for a value that has no form here.
  Json write(const c10::IValue& value);
  const Json& rows() const { return rows_; }

 private:
  int64_t add(const c10::IValue& container);
  Json row_of(const c10::IValue& container);

  TypeWriter& types_;
  TensorWriter& tensors_;
  Json rows_ = Json::array();
  std::unordered_map<const void*, int64_t> known_;  // -1: being written
  std::vector<c10::IValue> kept_;                   // alive, as keys
};

class ValueReader {
 public:
  ValueReader(const Json& rows, const TypeReader& types, const TensorReader& tensors);

  c10::IValue read(const Json& value) const;

 private:
  c10::IValue read_row(const Json& row) const;
  c10::IValue read_object(const c10::TypePtr& type, const Json& items, bool bound) const;
  c10::IValue read_enum(const c10::TypePtr& type, const Json& items) const;

  const TypeReader& types_;
  const TensorReader& tensors_;
  std::vector<c10::IValue> containers_;
};

// Texts of any bytes: JSON holds UTF-8 alone.
Json write_text(const std::string& text);
std::string read_text(const Json& text);

}  // namespace stator::planned
