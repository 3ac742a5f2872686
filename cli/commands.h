// The commands, one file each. They write results to stdout and throw Failure or UsageError.
#pragma once

#include <string>
#include <vector>

#include "inputs.h"
#include "model.h"

namespace cli {

void inspect(const Common& common);

struct PlanOptions {
  InputOptions inputs;
  std::string svg;  // file; "" writes none
};
void plan(const Common& common, const PlanOptions& options);

struct ConvertOptions {
  std::string output;  // file
  InputOptions inputs;
  std::vector<std::string> signatures;
  std::vector<int> threads = {1};
};
void convert(const Common& common, const ConvertOptions& options);

struct RunOptions {
  InputOptions inputs;
  std::string outputs;  // file; "" writes none
};
void run(const Common& common, const RunOptions& options);

struct BenchOptions {
  InputOptions inputs;
  int threads = 1;
  int callers = 1;
  double seconds = 3;
};
void bench(const Common& common, const BenchOptions& options);

struct ProfileOptions {
  InputOptions inputs;
  int threads = 1;
  int64_t runs = 100;
  std::string trace;  // file; "" writes none
  int64_t events = 1'000'000;
};
void profile(const Common& common, const ProfileOptions& options);

void write_text(const std::string& file, const std::string& text);  // throws Failure (IO)

void version(const std::string& torch, bool json);

// What shells complete: filled from the description that the parser itself uses.
struct CommandLine {
  struct Option {
    std::vector<std::string> names;  // -h, --help
    std::string description;
    std::string value;  // "" takes none; FILE and DIR complete to files
  };
  struct Command {
    std::string name;
    std::string description;
    std::vector<Option> options;
    std::vector<std::string> choices;  // of its argument; none: a file
  };
  std::vector<Command> commands;
  std::vector<Option> options;
};
void completion(const CommandLine& line, const std::string& shell);

}  // namespace cli
