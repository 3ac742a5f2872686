// The command `stator`: the description of its commands and options. What they do is in a file each.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string_view>

#include "commands.h"
#include "print.h"

namespace {

using cli::CommandLine;
using cli::Common;
using cli::InputOptions;

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 the model or the run failed, 2 the command line is wrong. Errors go to stderr.\n"
    "LibTorch is taken from --torch, else from the folder in STATOR_TORCH_HOME, else searched for.";

constexpr const char* kInputsHelp =
    "FILE is a list, tuple or dict saved by torch.save, or an .npz file: lists by position, dicts by input name.";

CLI::App* add_command(CLI::App& app, const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->set_help_flag("-h,--help", "Print this help and exit");
  return command;
}

CLI::App* add_model_command(CLI::App& app, const char* name, const char* description, Common& common,
                            bool takes_method) {
  CLI::App* command = add_command(app, name, description);
  command->add_option("model", common.model, "The model: TorchScript (.pt), torch.export (.pt2) or planned (.stator)")
      ->required()
      ->type_name("FILE");
  if (takes_method)
    command->add_option("--method", common.method, "Which method, by default forward")->type_name("NAME");
  command->add_option("--torch", common.torch, "The folder of LibTorch")->type_name("DIR");
  command
      ->add_option("--op-library", common.op_libraries,
                   "Load a library of operators first (TORCH_LIBRARY); may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--json", common.json, "Print JSON, errors too");
  return command;
}

void add_inputs(CLI::App* command, InputOptions& inputs) {
  command->add_option("--inputs", inputs.file, "Read the inputs from a file: .npz, or what torch.save wrote")
      ->type_name("FILE");
  command
      ->add_option("--shape", inputs.shapes,
                   "Make an input up, in order or by name; may be repeated: float32[1,32], x=int64[8], n=5, flag=true. "
                   "Floats are random, integers 0 or 1")
      ->type_name("SPEC")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

CommandLine describe(const CLI::App& app) {
  const auto options_of = [](const CLI::App& command) {
    std::vector<CommandLine::Option> result;
    for (const CLI::Option* option : command.get_options()) {
      CommandLine::Option out;
      for (const std::string& name : option->get_snames()) out.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) out.names.push_back("--" + name);
      if (out.names.empty()) continue;  // by position
      out.description = option->get_description();
      if (option->get_expected_max() > 0) {
        const std::string type = option->get_type_name();  // "N:INT in [1 - 4096]"
        out.value = type.substr(0, type.find(':'));
      }
      result.push_back(std::move(out));
    }
    return result;
  };
  CommandLine line;
  line.options = options_of(app);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    line.commands.push_back({command->get_name(), command->get_description(), options_of(*command), {}});
  }
  return line;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Runs trained PyTorch models on CPUs: looks into them, runs them, measures them.", "stator");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kFooter);
  bool version = false;
  Common common;
  app.add_flag("--version", version, "Print the version and exit; with --json also LibTorch's and the CPU's");
  app.add_flag("--json", common.json, "Print JSON, errors too");
  app.add_option("--torch", common.torch, "The folder of LibTorch")->type_name("DIR");

  cli::PlanOptions plan;
  cli::ConvertOptions convert;
  cli::RunOptions run;
  cli::BenchOptions bench;
  cli::ProfileOptions profile;
  std::string shell;

  CLI::App* command =
      add_model_command(app, "inspect", "Show methods, inputs, outputs, state and weights of a model", common, false);
  command->callback([&] { cli::inspect(common); });

  command = add_model_command(app, "plan", "Show how each node of a method will be run, and why not in a better way",
                              common, true);
  command->footer(
      std::string("With --inputs or --shape the method is run once and the bytes of its memory are shown.\n") +
      kInputsHelp);
  add_inputs(command, plan.inputs);
  command->add_option("--svg", plan.svg, "Write a picture of the memory plan: time to the right, offset upwards")
      ->type_name("FILE");
  command->callback([&] { cli::plan(common, plan); });

  command = add_model_command(
      app, "convert", "Write a planned file (.stator): it loads faster, and processes share its pages", common, true);
  command->footer(std::string("Plans are made for each --signature, and for what --inputs or --shape give.\n") +
                  kInputsHelp);
  command->add_option("output", convert.output, "The file to write")->required()->type_name("FILE");
  command
      ->add_option("--signature", convert.signatures,
                   "Plan for inputs of these shapes; may be repeated: \"x: float32[8,128], steps = 3\"")
      ->type_name("SPEC")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  add_inputs(command, convert.inputs);
  command
      ->add_option("--threads", convert.threads,
                   "Plan for runs with so many threads inside, by default 1; may be repeated")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->callback([&] { cli::convert(common, convert); });

  command = add_model_command(app, "run", "Run a method once", common, true);
  command->footer(kInputsHelp);
  add_inputs(command, run.inputs);
  command->add_option("--outputs", run.outputs, "Write the result to a file: .npz, or what torch.load reads")
      ->type_name("FILE");
  command->callback([&] { cli::run(common, run); });

  command = add_model_command(app, "bench", "Measure a method", common, true);
  command->footer(std::string(kInputsHelp) +
                  "\nRuns are timed in batches, so large that reading the clock costs under 1 %. p50, p99 and min are "
                  "over batches: "
                  "where a batch holds more than one run, they are of the mean run in it.");
  add_inputs(command, bench.inputs);
  command->add_option("--threads", bench.threads, "Threads inside one run, by default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--callers", bench.callers, "Concurrent callers, each with its own runtime and arena, by default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--seconds", bench.seconds,
                   "How long to measure, by default 3; a tenth of it is spent before on warming up")
      ->type_name("S")
      ->check(CLI::Range(0.001, 86400.0));
  command->callback([&] { cli::bench(common, bench); });

  command = add_model_command(app, "profile", "Show where the time of a method's runs goes, by node", common, true);
  command->footer(std::string(kInputsHelp) + "\nThree runs come before, which find sizes and make plans.");
  add_inputs(command, profile.inputs);
  command->add_option("--runs", profile.runs, "How many runs, by default 100")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}));
  command->add_option("--threads", profile.threads, "Threads inside one run, by default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--trace", profile.trace,
                   "Write each execution of a node, in the format of chrome://tracing and Perfetto")
      ->type_name("FILE");
  command
      ->add_option("--events", profile.events,
                   "How many executions the trace holds, the first ones; by default 1000000")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 26));
  command->callback([&] { cli::profile(common, profile); });

  const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  command = add_command(app, "completion", "Print a completion script for a shell");
  command->footer("For example: stator completion bash > ~/.local/share/bash-completion/completions/stator");
  command->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember(shells));
  command->callback([&] {
    CommandLine line = describe(app);
    line.commands.back().choices = shells;
    cli::completion(line, shell);
  });

  try {
    app.parse(argc, argv);
    if (version) {
      cli::version(common.torch, common.json);
    } else if (app.get_subcommands().empty()) {
      throw cli::UsageError(
          "expected a command: inspect, plan, convert, run, bench, profile or completion; see stator --help");
    }
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    throw cli::UsageError(std::string(error.what()) + "; see stator " +
                          (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    const std::span<char*> words(argv, static_cast<size_t>(argc));
    const bool json =
        std::any_of(words.begin(), words.end(), [](const char* word) { return std::string_view(word) == "--json"; });
    return cli::report(error, json);
  }
}
