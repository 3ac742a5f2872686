#include <filesystem>
#include <iostream>

#include "commands.h"
#include "print.h"
#include "progress.h"
#include "run_twice.h"

namespace cli {
namespace {

Options runtime_options(int threads) {
  Options options = make<Options>(stator_options_create);
  check(stator_options_set_int(options.get(), "intra_op_threads", threads));
  return options;
}

void make_plans(stator_module* module, const stator_method* method, const ConvertOptions& wanted) {
  for (const int threads : wanted.threads) {
    const Options options = runtime_options(threads);
    if (!wanted.inputs.file.empty() || !wanted.inputs.shapes.empty())
      run_twice(module, method, wanted.inputs, options.get());
    for (const std::string& signature : wanted.signatures) {
      const Progress progress("planning for " + signature);
      check(stator_module_warm_up(module, method, signature.c_str(), options.get()));
    }
  }
}

// Of all methods: a planned file that is converted again keeps what it had.
Json plans_of(const stator_module* module) {
  Json out = Json::array();
  for (int32_t i = 0; i < stator_module_method_count(module); ++i) {
    const stator_method* method = stator_module_get_method(module, i);
    const Json plan = parse_json(text_of(stator_method_plan, method), "stator_method_plan");
    for (const Json& signature : plan.at("signatures"))
      out.push_back({{"method", plan.at("method")}, {"inputs", signature.at("inputs")}});
  }
  return out;
}

}  // namespace

void convert(const Common& common, const ConvertOptions& options) {
  const Module module = load_module(common);
  make_plans(module.get(), find_method(module.get(), common), options);
  {
    const Progress progress("writing " + options.output);
    check(stator_module_save(module.get(), options.output.c_str(), nullptr));
  }
  const Json plans = plans_of(module.get());
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(options.output));
  if (common.json)
    return print_json({{"model", common.model}, {"output", options.output}, {"bytes", bytes}, {"plans", plans}});
  std::cout << options.output << ": " << format_bytes(bytes) << ", " << plural(std::ssize(plans), "plan") << '\n';
  for (const Json& plan : plans) {
    std::cout << "  " << plan.at("method").get<std::string>() << ':';
    for (const Json& input : plan.at("inputs")) std::cout << ' ' << input.get<std::string>();
    std::cout << '\n';
  }
  if (plans.empty()) std::cout << "no plans for shapes: give --signature, --shape or --inputs to have some\n";
  std::cout << std::flush;
}

}  // namespace cli
