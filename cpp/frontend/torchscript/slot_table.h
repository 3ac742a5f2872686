// The program's table of attributes and constants, filled while methods are imported.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/torchscript/module_table.h"
#include "graph/program.h"

namespace stator {

// Slots are made when first asked for, one per attribute of one module, so that a submodule that is reached by two paths is one.
class SlotTable {
 public:
  SlotTable(std::vector<StateSlot>& slots, const ModuleTable& modules) : slots_(slots), modules_(modules) {}

  int64_t attribute(const ObjectPtr& module, const std::string& name);
  // A constant that the model could write into, and that then keeps what was written: freezing says whether any method does.
  int64_t constant(const c10::IValue& value, const c10::TypePtr& type);

 private:
  int64_t add(std::string name, c10::TypePtr type, c10::IValue value);

  std::vector<StateSlot>& slots_;
  const ModuleTable& modules_;
  std::unordered_map<const void*, std::unordered_map<std::string, int64_t>> attributes_;  // by module
  std::unordered_map<const void*, int64_t> constants_;                                    // by identity
};

}  // namespace stator
