#include "frontend/torchscript/module_table.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

namespace stator {
namespace {

namespace jit = torch::jit;

template <class F>
void for_each_jit_node(const jit::Block* block, const F& f) {
  for (const jit::Node* node : block->nodes()) {
    f(node);
    for (const jit::Block* inner : node->blocks()) for_each_jit_node(inner, f);
  }
}

}  // namespace

bool is_module_type(const c10::TypePtr& type) {
  if (const auto* class_type = type->castRaw<c10::ClassType>()) return class_type->is_module();
  const auto* interface = type->castRaw<c10::InterfaceType>();
  return interface && interface->is_module();
}

bool holds_modules(const c10::TypePtr& type) {
  if (is_module_type(type)) return true;
  if (type->kind() == c10::TypeKind::ClassType) return false;
  const auto inner = type->containedTypes();
  return std::any_of(inner.begin(), inner.end(), holds_modules);
}

c10::TypePtr numbered(const c10::TypePtr& type) {
  if (is_module_type(type)) return c10::IntType::get();
  if (!holds_modules(type)) return type;
  std::vector<c10::TypePtr> inner;
  for (const c10::TypePtr& contained : type->containedTypes()) inner.push_back(numbered(contained));
  return type->withContained(std::move(inner));
}

ModuleTable::ModuleTable(const ObjectPtr& root) {
  add(root, "");
  std::set<const c10::ClassType*> seen;
  for (const ObjectPtr& module : modules_) {
    const auto type = module->type();
    if (!seen.insert(type.get()).second) continue;
    for (jit::Function* method : type->methods()) {
      auto* function = jit::tryToGraphFunction(*method);
      if (!function) continue;
      for_each_jit_node(function->graph()->block(), [&](const jit::Node* node) {
        if (node->kind() != c10::prim::SetAttr || !is_module_type(node->inputs()[1]->type())) return;
        if (auto owner = node->inputs()[0]->type()->cast<c10::ClassType>())
          swapped_.emplace(owner.get(), node->s(c10::attr::name));
      });
    }
  }
}

void ModuleTable::add(const ObjectPtr& module, const std::string& path) {
  if (!numbers_.emplace(module.get(), static_cast<int64_t>(modules_.size())).second) return;
  modules_.push_back(module);
  paths_.push_back(path);
  const auto type = module->type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = module->getSlot(i);
    if (!value.isModule()) continue;
    add(value.toObject(), path.empty() ? type->getAttributeName(i) : path + "." + type->getAttributeName(i));
  }
}

std::vector<int64_t> ModuleTable::fitting(const c10::TypePtr& type) const {
  std::vector<int64_t> out;
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i]->type()->isSubtypeOf(*type)) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

bool ModuleTable::swapped(const ObjectPtr& module, const std::string& attribute) const {
  return swapped_.count({module->type().get(), attribute}) != 0;
}

}  // namespace stator
