#include <fstream>
#include <iostream>

#include "commands.h"
#include "print.h"
#include "progress.h"

namespace cli {
namespace {

// The first runs find sizes and make plans; what a service sees comes after them.
constexpr int kWarmUp = 3;

void run(stator_runtime* runtime, const stator_method* method, stator_arena* arena, int64_t times) {
  for (int64_t i = 0; i < times; ++i) check(stator_runtime_run(runtime, method, arena));
}

}  // namespace

void write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Failure(STATOR_IO, "\"" + file + "\" could not be written");
}

void profile(const Common& common, const ProfileOptions& options) {
  const Module module = load_module(common);
  const stator_method* method = find_method(module.get(), common);
  const Arguments arguments = read_arguments(inputs_of(module.get(), method), options.inputs);
  const Options runtime_options = make<Options>(stator_options_create);
  check(stator_options_set_int(runtime_options.get(), "intra_op_threads", options.threads));
  const Runtime runtime = make<Runtime>(stator_runtime_create, module.get(), runtime_options.get());
  const Arena arena = make<Arena>(stator_arena_create, module.get(), nullptr);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i])
      check(stator_runtime_bind_value(runtime.get(), method, static_cast<int32_t>(i), arguments[i].get()));
  }
  {
    const Progress progress("profiling " + common.method);
    run(runtime.get(), method, arena.get(), kWarmUp);
    check(stator_profile_start(runtime.get(), options.trace.empty() ? 0 : options.events));
    run(runtime.get(), method, arena.get(), options.runs);
    check(stator_profile_stop(runtime.get()));
  }
  if (!options.trace.empty()) write_text(options.trace, text_of(stator_profile_trace, runtime.get()));
  if (common.json) {
    Json out = {{"model", common.model}};
    out.update(parse_json(text_of(stator_profile_json, runtime.get()), "stator_profile_json"));
    return print_json(out);
  }
  std::cout << common.model << ", " << text_of(stator_profile_text, runtime.get()) << std::flush;
}

}  // namespace cli
