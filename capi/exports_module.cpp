// Modules and methods.
#include <ATen/Version.h>

#include "describe.h"
#include "front/services.h"
#include "frontend/load.h"
#include "frontend/planned/save.h"
#include "graph/log.h"
#include "graph/printer.h"
#include "guard.h"
#include "handles.h"
#include "options.h"
#include "runtime/processors.h"
#include "runtime/saved_plans.h"
#include "runtime/strict.h"
#include "runtime/warm_up.h"

using namespace stator;
using namespace stator::capi;

namespace {

// Without folder and suffix; NULL is "".
std::string file_name(const char* path) {
  std::string name = path ? path : "";
  if (auto slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
  if (auto dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.erase(dot);
  return name;
}

Maker this_maker() {
  const stator_front_services& front = *stator_core_services();
  std::string torch;
  for (int32_t part : front.torch_version) torch += (torch.empty() ? "" : ".") + std::to_string(part);
  return {front.version, torch, at::get_cpu_capability()};
}

template <class Load>
stator_status* load_module(const stator_options* options, const char* path, stator_module** out, Load&& load) {
  return guarded([&] {
    require_handle(out, "out");
    WarningsToLog warnings;
    ModuleOptions settings = module_options(options);
    if (settings.name.empty()) settings.name = file_name(path);
    auto handle = std::make_unique<stator_module>();
    handle->module = std::make_shared<StaticModule>(load(settings), settings);
    restore_plans(handle->module, this_maker());
    if (settings.strict) {
      for (int threads : {1, available_processors()}) make_strict(handle->module, threads);
    }
    add_to_metrics(std::shared_ptr<const StaticModule>(handle->module));
    *out = handle.release();
  });
}

std::unique_ptr<stator_bytes> make_bytes(std::string text) {
  auto bytes = std::make_unique<stator_bytes>();
  bytes->data = std::move(text);
  return bytes;
}

const Parameter* parameter(const stator_method* method, int32_t index) {
  if (!method || index < 0 || index >= static_cast<int32_t>(as_method(method).parameters().size())) return nullptr;
  return &as_method(method).parameters()[index];
}

// The texts of types live as long as the process: they are few, and the ABI lends them out.
const char* type_text(const c10::TypePtr& type) {
  static std::mutex mutex;
  static auto& texts = *new std::map<std::string, std::unique_ptr<std::string>>;
  std::string text = type->annotation_str();
  std::lock_guard lock(mutex);
  auto& kept = texts[text];
  if (!kept) kept = std::make_unique<std::string>(text);
  return kept->c_str();
}

}  // namespace

stator_status* stator_module_load(const char* path, const stator_options* options, stator_module** out) {
  return load_module(options, path, out, [&](const ModuleOptions& settings) {
    require_handle(path, "path");
    return load_model_file(path, settings.map_weights);
  });
}

stator_status* stator_module_load_bytes(const void* data, int64_t size, const stator_options* options,
                                        stator_module** out) {
  return load_module(options, nullptr, out, [&](const ModuleOptions& settings) {
    require_handle(data, "data");
    require(size >= 0, "size", "is negative");
    if (settings.map_weights.value_or(false))
      throw Error(ErrorCode::kInvalidArgument,
                  "option \"weights\" = \"map\" needs a file; stator_module_load_shared() borrows memory");
    // Nothing of the bytes is kept once they are loaded.
    return load_model_bytes({std::shared_ptr<const void>(data, [](const void*) {}), static_cast<size_t>(size)}, false);
  });
}

stator_status* stator_module_load_shared(const void* data, int64_t size, stator_release_fn release_data, void* context,
                                         const stator_options* options, stator_module** out) {
  std::shared_ptr<const void> owner;
  stator_status* failed = guarded([&] {
    owner = std::shared_ptr<const void>(data, [=](const void*) {
      if (release_data) release_data(context);
    });
    require_handle(data, "data");
    require(size >= 0, "size", "is negative");
  });
  if (failed) return failed;
  return load_module(options, nullptr, out,
                     [&](const ModuleOptions&) { return load_model_bytes({owner, static_cast<size_t>(size)}, true); });
}

void stator_module_retain(stator_module* module) { retain(module); }

void stator_module_release(stator_module* module) { release(module); }

int32_t stator_module_method_count(const stator_module* module) {
  return module ? static_cast<int32_t>(module->module->methods().size()) : 0;
}

const stator_method* stator_module_get_method(const stator_module* module, int32_t index) {
  if (!module || index < 0 || index >= stator_module_method_count(module)) return nullptr;
  return as_handle(module->module->methods()[index].get());
}

stator_status* stator_module_find_method(const stator_module* module, const char* name, const stator_method** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(name, "name");
    require_handle(out, "out");
    const StaticMethod* method = module->module->find_method(name);
    if (!method) {
      std::string known;
      for (const auto& each : module->module->methods()) known += (known.empty() ? "\"" : ", \"") + each->name() + "\"";
      throw Error(ErrorCode::kNotFound, std::string("the module has no method \"") + name + "\"; it has " + known);
    }
    *out = as_handle(method);
  });
}

stator_status* stator_module_warm_up(stator_module* module, const stator_method* method, const char* signature,
                                     const stator_options* options) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(method, "method");
    require_handle(signature, "signature");
    WarningsToLog warnings;
    RuntimeOptions settings = runtime_options(options);
    if (settings.intra_op_threads == 0) settings.intra_op_threads = 1;  // as in a pool
    warm_up(module->module, as_method(method), signature, settings);
  });
}

stator_status* stator_module_save(const stator_module* module, const char* path, const stator_options* options) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(path, "path");
    no_options(options, "stator_module_save");
    const StaticModule& from = *module->module;
    ProgramView program{
        .format = from.format(), .training = from.training(), .methods = {}, .slots = from.state_slots()};
    for (const auto& method : from.methods()) program.methods.push_back(&method->method());
    save_planned(path, program, saved_plans(from, this_maker()));
  });
}

stator_status* stator_module_describe(const stator_module* module, stator_bytes** out) {
  return guarded([&] {
    require_handle(module, "module");
    require_handle(out, "out");
    *out = make_bytes(describe_module(*module->module)).release();
  });
}

stator_status* stator_module_trim(stator_module* module) {
  return guarded([&] {
    require_handle(module, "module");
    module->module->trim();
  });
}

const char* stator_method_name(const stator_method* method) {
  return method ? as_method(method).name().c_str() : nullptr;
}

int32_t stator_method_input_count(const stator_method* method) {
  return method ? static_cast<int32_t>(as_method(method).parameters().size()) : 0;
}

const char* stator_method_input_name(const stator_method* method, int32_t index) {
  const Parameter* found = parameter(method, index);
  return found ? found->name.c_str() : nullptr;
}

const char* stator_method_input_type(const stator_method* method, int32_t index) {
  const Parameter* found = parameter(method, index);
  return found ? type_text(found->type) : nullptr;
}

int32_t stator_method_input_written(const stator_method* method, int32_t index) {
  return parameter(method, index) && as_method(method).writes_input(index);
}

int32_t stator_method_output_count(const stator_method* method) {
  return method ? as_method(method).output_count() : 0;
}

stator_status* stator_method_graph(const stator_method* method, stator_bytes** out) {
  return guarded([&] {
    require_handle(method, "method");
    require_handle(out, "out");
    *out = make_bytes(print(as_method(method).graph())).release();
  });
}

stator_status* stator_method_plan(const stator_method* method, stator_bytes** out) {
  return guarded([&] {
    require_handle(method, "method");
    require_handle(out, "out");
    *out = make_bytes(describe_plan(as_method(method))).release();
  });
}
