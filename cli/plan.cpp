#include <algorithm>
#include <iostream>
#include <map>

#include "commands.h"
#include "print.h"
#include "run_twice.h"

namespace cli {
namespace {

// What runs on these inputs do, if there is a plan for them: which nodes are joined into one step, and what memory it takes.
void print_signature(const Json& signature, const Json& nodes) {
  std::string inputs;
  for (const Json& input : signature.at("inputs")) inputs += (inputs.empty() ? "" : ", ") + input.get<std::string>();
  std::cout << "\nplan for " << inputs << "\n\n";
  Table table({"step", "kind", "nodes", "operators"});
  int64_t number = 0;
  for (const Json& step : signature.at("steps")) {
    std::string numbers;
    std::string operators;
    for (const Json& node : step.at("nodes")) {
      const auto found =
          std::find_if(nodes.begin(), nodes.end(), [&](const Json& each) { return each.at("node") == node; });
      numbers += (numbers.empty() ? "" : " ") + node.get<std::string>();
      if (found != nodes.end()) operators += (operators.empty() ? "" : " ") + found->at("operator").get<std::string>();
    }
    table.add({std::to_string(number++), step.at("kind"), numbers, operators});
  }
  std::cout << table.str() << '\n'
            << plural(signature.at("bound_nodes").get<int64_t>(), "node") << " in bound kernels; workspace "
            << format_bytes(signature.at("workspace_bytes")) << ", at most " << format_bytes(signature.at("live_bytes"))
            << " alive at once; Static Runtime's groups would take " << format_bytes(signature.at("group_bytes"))
            << '\n';
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
  // So that the plan tells the bytes that this input needs, and there is one for its signature.
  if (ran) run_twice(module.get(), method, inputs, nullptr);
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
  if (!plan.at("signatures").empty()) print_signature(plan.at("signatures").front(), nodes);
  std::cout << std::flush;
}

}  // namespace cli
