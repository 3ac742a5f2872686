// What every command about a model starts with: LibTorch, the module, one of its methods.
#pragma once

#include <string>
#include <vector>

#include "handles.h"

namespace cli {

// Options that all commands about a model take.
struct Common {
  std::string model;
  std::string method = "forward";
  std::string torch;  // "" if not given
  std::vector<std::string> op_libraries;
  bool json = false;
};

struct Input {
  std::string name;
  std::string type;
  bool required = true;
  bool written = false;
};

// Loads LibTorch from `given`, else STATOR_TORCH_HOME, else the folder that the build noted beside this command, else
// leaves the search to libstator.
void load_torch(const std::string& given);

Module load_module(const Common& common);  // LibTorch too; says so if it takes long
const stator_method* find_method(const stator_module* module, const Common& common);
std::vector<Input> inputs_of(const stator_module* module, const stator_method* method);

}  // namespace cli
