#include "model.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "print.h"
#include "progress.h"

namespace cli {
namespace {

// A line of text in ../lib/stator/torch_home, beside the folder of this command.
std::string noted_torch() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  std::ifstream note(self.parent_path() / ".." / "lib" / "stator" / "torch_home");
  std::string folder;
  std::getline(note, folder);
  return folder;
}

}  // namespace

void load_torch(const std::string& given) {
  std::string folder = given;
  const char* environment = std::getenv("STATOR_TORCH_HOME");
  if (folder.empty() && environment != nullptr) folder = environment;
  if (folder.empty()) folder = noted_torch();
  if (!folder.empty()) check(stator_torch_load(folder.c_str()));
}

Module load_module(const Common& common) {
  const Progress progress("loading " + common.model);
  load_torch(common.torch);
  for (const std::string& library : common.op_libraries) check(stator_op_library_load(library.c_str()));
  return make<Module>(stator_module_load, common.model.c_str(), nullptr);
}

const stator_method* find_method(const stator_module* module, const Common& common) {
  const stator_method* method = nullptr;
  check(stator_module_find_method(module, common.method.c_str(), &method));
  return method;
}

std::vector<Input> inputs_of(const stator_module* module, const stator_method* method) {
  std::vector<Input> result;
  for (int32_t i = 0; i < stator_method_input_count(method); ++i) {
    result.push_back({stator_method_input_name(method, i), stator_method_input_type(method, i), true,
                      stator_method_input_written(method, i) != 0});
  }
  // Only the description tells which inputs have defaults.
  const Json description = parse_json(text_of(stator_module_describe, module), "stator_module_describe");
  for (const Json& entry : description.at("methods")) {
    if (entry.at("name") != stator_method_name(method)) continue;
    const Json& inputs = entry.at("inputs");
    for (size_t i = 0; i < result.size() && i < inputs.size(); ++i) result[i].required = !inputs[i].contains("default");
  }
  return result;
}

}  // namespace cli
