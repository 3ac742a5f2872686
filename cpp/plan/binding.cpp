#include "plan/binding.h"

#include <string>
#include <unordered_map>

namespace stator {
namespace {

std::unordered_map<std::string, Binder>& binders() {
  static std::unordered_map<std::string, Binder> all;
  return all;
}

}  // namespace

BinderRegistration::BinderRegistration(std::string_view key, Binder binder) { binders()[std::string(key)] = binder; }

Binder find_binder(const Node& node) {
  const auto& all = binders();
  auto found = all.find(node.opcode == Opcode::kOperator ? node.op->key : opcode_name(node.opcode));
  return found == all.end() ? nullptr : found->second;
}

}  // namespace stator
