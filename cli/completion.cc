// dgrad completion bash: a completion script made from the options of the commands.
#include <memory>

#include "command.h"
#include "flags.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

std::vector<const CLI::App*> VisibleCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The options of a command, all in one line.
std::string OptionsOf(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : NamesOf(*option)) all.push_back(name);
  }
  return Join(all, " ");
}

// One case a command and option that takes one of some words. Options that take files complete file
// names anyway.
std::string CasesOf(const CLI::App& command) {
  std::string cases;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_items_expected_max() == 0) continue;
    const std::string type = option->get_type_name();
    const bool file = type == "FILE";
    // "a|b" are words to offer; a name alone, such as N, is not.
    std::string words = type.find('|') == std::string::npos ? "" : type;
    for (char& c : words) {
      if (c == '|') c = ' ';
    }
    std::vector<std::string> patterns;
    for (const std::string& name : NamesOf(*option)) {
      patterns.push_back(command.get_name() + ":" + name);
    }
    const std::string reply = file ? "_dgrad_files" : "_dgrad_words '" + words + "'";
    cases += "    " + Join(patterns, " | ") + ") " + reply + "; return ;;\n";
  }
  return cases;
}

constexpr const char* kStart =
    "# Completion of dgrad for bash; written by 'dgrad completion bash'.\n"
    "_dgrad_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }\n"
    "_dgrad_files() {\n"
    "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "  compopt -o filenames 2>/dev/null\n"
    "}\n"
    "_dgrad() {\n"
    "  local current=${COMP_WORDS[COMP_CWORD]} command='' previous='' i\n"
    "  COMPREPLY=()\n"
    "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
    "    if [[ ${COMP_WORDS[i]} != -* ]]; then\n"
    "      command=${COMP_WORDS[i]}\n"
    "      break\n"
    "    fi\n"
    "  done\n"
    "  previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "  # bash takes --option=value for three words.\n"
    "  if [[ $current == = ]]; then\n"
    "    current=''\n"
    "  elif [[ $previous == = ]]; then\n"
    "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n"
    "  case $command:$previous in\n";

std::string Bash(const CLI::App& app) {
  std::string script = kStart;
  std::vector<std::string> commands;
  for (const CLI::App* command : VisibleCommands(app)) {
    commands.push_back(command->get_name());
    script += CasesOf(*command);
  }
  script +=
      "  esac\n"
      "  case $command in\n"
      "    '') _dgrad_words '" +
      Join(commands, " ") + " " + OptionsOf(app) + "' ;;\n";
  for (const CLI::App* command : VisibleCommands(app)) {
    script += "    " + command->get_name() + ")\n      if [[ $current == -* ]]; then\n" +
              "        _dgrad_words '" + OptionsOf(*command) +
              "'\n      else\n        _dgrad_files\n      fi\n      ;;\n";
  }
  return script + "  esac\n}\ncomplete -F _dgrad dgrad\n";
}

}  // namespace

void AddCompletion(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  command->group("");  // hidden
  const auto shell = std::make_shared<std::string>();
  AddChoice(*command, "SHELL", shell.get(), {"bash"}, "The shell")->required();
  command->callback([shell, action, &app] {
    *action = [shell, &app] {
      Out().Write(Bash(app));
      return kOk;
    };
  });
}

}  // namespace dgrad::cli
