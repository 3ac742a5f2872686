// The modules of an archive, numbered in the order in which they are reached from the root.
//
// Where TorchScript lets a module be a value (picked from a ModuleList by an index, held by an attribute that the model swaps, put in a
// list), the imported graph has its number instead, an int. What is done with it becomes a choice among the modules that it can be, with
// the method of each inlined over its own attributes: so no object is left at run time, and freezing and planning see everything.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stator {

using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

bool is_module_type(const c10::TypePtr& type);  // of a module, or an interface of modules
bool holds_modules(const c10::TypePtr& type);   // the same, or a list, tuple, dict or Optional of such
// The type that a value of `type` has in the imported graph: int in the place of modules.
c10::TypePtr numbered(const c10::TypePtr& type);

class ModuleTable {
 public:
  explicit ModuleTable(const ObjectPtr& root);

  int64_t number(const ObjectPtr& module) const { return numbers_.at(module.get()); }
  const ObjectPtr& module(int64_t number) const { return modules_[number]; }
  // From the root, "" for itself: "encoder.0". A module that is reached by several has the first.
  const std::string& path(const ObjectPtr& module) const { return paths_[number(module)]; }
  // The modules that a value of this type may be.
  std::vector<int64_t> fitting(const c10::TypePtr& type) const;
  // Some method may make this attribute another module.
  bool swapped(const ObjectPtr& module, const std::string& attribute) const;

 private:
  void add(const ObjectPtr& module, const std::string& path);

  std::vector<ObjectPtr> modules_;
  std::vector<std::string> paths_;
  std::unordered_map<const void*, int64_t> numbers_;
  std::set<std::pair<const c10::ClassType*, std::string>> swapped_;
};

}  // namespace stator
