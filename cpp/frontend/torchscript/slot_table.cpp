#include "frontend/torchscript/slot_table.h"

namespace stator {

int64_t SlotTable::add(std::string name, c10::TypePtr type, c10::IValue value) {
  slots_.push_back({std::move(name), std::move(type), std::move(value)});
  return static_cast<int64_t>(slots_.size()) - 1;
}

int64_t SlotTable::attribute(const ObjectPtr& module, const std::string& name) {
  auto& known = attributes_[module.get()];
  if (auto found = known.find(name); found != known.end()) return found->second;
  const std::string& path = modules_.path(module);
  c10::IValue value = module->getAttr(name);
  if (value.isModule()) value = modules_.number(value.toObject());
  int64_t slot = add(path.empty() ? name : path + "." + name, numbered(module->type()->getAttribute(name)), value);
  known.emplace(name, slot);
  return slot;
}

int64_t SlotTable::constant(const c10::IValue& value, const c10::TypePtr& type) {
  const void* identity =
      value.isTensor() ? static_cast<const void*>(value.toTensor().unsafeGetTensorImpl()) : value.internalToPointer();
  auto [it, added] = constants_.try_emplace(identity, 0);
  if (added) it->second = add("CONSTANTS.c" + std::to_string(constants_.size() - 1), type, value);
  return it->second;
}

}  // namespace stator
