#include <iostream>
#include <map>

#include "commands.h"
#include "print.h"
#include "progress.h"

namespace cli {
namespace {

// One run, so that the plan tells the bytes that this input needs.
void run_once(stator_module* module, const stator_method* method, const InputOptions& options) {
  const Progress progress("running once");
  const std::vector<Input> inputs = inputs_of(module, method);
  const CallArguments call = call_arguments(inputs, read_arguments(inputs, options));
  const Runtime runtime = make<Runtime>(stator_runtime_create, module, nullptr);
  const Arena arena = make<Arena>(stator_arena_create, module, nullptr);
  make<ValuePtr>(stator_runtime_call, runtime.get(), method, call.args.get(), call.kwargs.get(), arena.get());
}

void print_counts(const Json& nodes) {
  std::map<std::string, int64_t> counts;
  for (const Json& node : nodes) ++counts[node.at("kind")];
  std::string text;
  for (const char* kind : {"bound", "out", "native", "control", "fallback"}) {
    text += (text.empty() ? "" : ", ") + std::to_string(counts[kind]) + " " + kind;
    counts.erase(kind);
  }
  for (const auto& [kind, count] : counts) text += ", " + std::to_string(count) + " " + kind;
  std::cout << plural(std::ssize(nodes), "node") << ": " << text << '\n';
}

}  // namespace

void plan(const Common& common, const PlanOptions& options) {
  const InputOptions& inputs = options.inputs;
  const Module module = load_module(common);
  const stator_method* method = find_method(module.get(), common);
  const bool ran = !inputs.file.empty() || !inputs.shapes.empty();
  if (!options.svg.empty() && !ran)
    throw UsageError("--svg draws the bytes that a run needs: give --inputs FILE or --shape");
  if (ran) run_once(module.get(), method, inputs);
  if (!options.svg.empty()) write_text(options.svg, text_of(stator_method_plan_svg, method));
  const Json plan = parse_json(text_of(stator_method_plan, method), "stator_method_plan");
  if (common.json) return print_json(plan);

  const Json& nodes = plan.at("nodes");
  std::cout << common.model << ", " << plan.at("method").get<std::string>() << ": "
            << plan.at("plan").get<std::string>() << " plan, " << plan.at("memory_planner").get<std::string>()
            << " memory planner\n\n";
  Table table({"node", "kind", "operator", "why not better", "source"});
  for (const Json& node : nodes) {
    const std::string indent(static_cast<size_t>(2 * node.value("depth", 0)), ' ');
    table.add({node.at("node"), node.at("kind"), indent + node.at("operator").get<std::string>(), node.value("why", ""),
               node.value("source", "")});
  }
  if (!table.empty()) std::cout << table.str() << '\n';
  print_counts(nodes);
  const int64_t workspace = plan.at("workspace_bytes");
  const int64_t outputs = plan.at("output_bytes");
  std::cout << plural(std::ssize(plan.at("buffers")), "planned buffer") << "; ";
  if (ran) {
    std::cout << "workspace " << format_bytes(workspace) << ", outputs " << format_bytes(outputs) << '\n';
  } else {
    std::cout << "their bytes depend on the shapes: give --inputs FILE or --shape to see them\n";
  }
  std::cout << std::flush;
}

}  // namespace cli
