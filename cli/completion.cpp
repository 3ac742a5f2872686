#include <iostream>

#include "commands.h"

namespace cli {
namespace {

using Option = CommandLine::Option;
using Command = CommandLine::Command;

bool is_path(const std::string& value) { return value == "FILE" || value == "DIR"; }

// For a shell's single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

template <class Items, class Text>
std::string joined(const Items& items, const char* between, Text text) {
  std::string result;
  for (const auto& item : items) {
    const std::string one = text(item);
    if (!one.empty()) result += (result.empty() ? "" : between) + one;
  }
  return result;
}

std::string same(const std::string& text) { return text; }
std::string names(const std::vector<Option>& options) {
  return joined(options, " ", [](const Option& option) { return joined(option.names, " ", same); });
}

void bash(const CommandLine& line) {
  std::cout << "# bash completion of stator; made by: stator completion bash\n"
               "_stator() {\n"
               "  local word=${COMP_WORDS[COMP_CWORD]} command= i\n"
               "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
               "    case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
               "  done\n"
               "  local words= files=\n"
               "  case $command in\n"
               "    '') words='"
            << joined(line.commands, " ", [](const Command& c) { return c.name; }) << ' ' << names(line.options)
            << "' ;;\n";
  for (const Command& command : line.commands) {
    std::cout << "    " << command.name << ")\n      case ${COMP_WORDS[COMP_CWORD-1]} in\n";
    for (const Option& option : command.options) {
      if (option.value.empty()) continue;
      const char* reply = option.value == "DIR"    ? "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
                          : option.value == "FILE" ? "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
                                                   : "COMPREPLY=()";
      std::cout << "        " << joined(option.names, "|", same) << ") " << reply << "; return ;;\n";
    }
    std::cout << "      esac\n      words='" << joined(command.choices, " ", same)
              << (command.choices.empty() ? "" : " ") << names(command.options) << "'";
    std::cout << (command.choices.empty() ? "; files=yes" : "") << " ;;\n";
  }
  std::cout << "  esac\n"
               "  if [[ $files && $word != -* ]]; then\n"
               "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
               "  else\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
               "  fi\n"
               "}\n"
               "complete -o filenames -F _stator stator\n";
}

// _arguments takes [ ] : as its own.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result;
}

std::string zsh_option(const Option& option) {
  const std::string value = option.value.empty() ? ""
                                                 : ":" + option.value + ":" +
                                                       (option.value == "DIR"   ? "_files -/"
                                                        : is_path(option.value) ? "_files"
                                                                                : " ");
  return joined(option.names, " ", [&](const std::string& name) {
    return quoted("*" + name + "[" + zsh_text(option.description) + "]" + value);
  });
}

void zsh(const CommandLine& line) {
  std::cout << "#compdef stator\n"
               "# zsh completion of stator; made by: stator completion zsh\n"
               "_stator() {\n"
               "  local context state line\n"
               "  local -a commands=(\n";
  for (const Command& command : line.commands)
    std::cout << "    " << quoted(command.name + ":" + zsh_text(command.description)) << '\n';
  std::cout << "  )\n"
               "  _arguments -C "
            << joined(line.options, " ", zsh_option)
            << " '1:command:->command' '*::argument:->argument'\n"
               "  case $state in\n"
               "    command) _describe command commands ;;\n"
               "    argument)\n"
               "      case $line[1] in\n";
  for (const Command& command : line.commands) {
    const std::string argument =
        command.choices.empty() ? "'1:model:_files'" : quoted("1:choice:(" + joined(command.choices, " ", same) + ")");
    std::cout << "        " << command.name << ") _arguments " << argument << ' '
              << joined(command.options, " ", zsh_option) << " ;;\n";
  }
  std::cout << "      esac ;;\n"
               "  esac\n"
               "}\n"
               "if [[ $funcstack[1] == _stator ]]; then _stator \"$@\"; else compdef _stator stator; fi\n";
}

void fish(const CommandLine& line) {
  std::cout << "# fish completion of stator; made by: stator completion fish\n"
               "complete -c stator -f\n";
  const auto option_text = [](const Option& option) {
    std::string result;
    for (const std::string& name : option.names)
      result += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty())
      result += option.value == "DIR"   ? " -x -a '(__fish_complete_directories)'"
                : is_path(option.value) ? " -r -F"
                                        : " -x";
    return result + " -d " + quoted(option.description);
  };
  for (const Option& option : line.options)
    std::cout << "complete -c stator -n __fish_use_subcommand" << option_text(option) << '\n';
  for (const Command& command : line.commands) {
    std::cout << "complete -c stator -n __fish_use_subcommand -a " << command.name << " -d "
              << quoted(command.description) << '\n';
  }
  for (const Command& command : line.commands) {
    const std::string start = "complete -c stator -n '__fish_seen_subcommand_from " + command.name + "'";
    std::cout << start << (command.choices.empty() ? " -F" : " -a " + quoted(joined(command.choices, " ", same)))
              << '\n';
    for (const Option& option : command.options) std::cout << start << option_text(option) << '\n';
  }
}

}  // namespace

void completion(const CommandLine& line, const std::string& shell) {
  if (shell == "bash") bash(line);
  if (shell == "zsh") zsh(line);
  if (shell == "fish") fish(line);
  std::cout << std::flush;
}

}  // namespace cli
