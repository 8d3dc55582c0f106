// The commands of the program: each file declares its own options and hands back what to do.
#ifndef DGRAD_CLI_COMMAND_H_
#define DGRAD_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "error.h"

namespace dgrad::cli {

// What the parsed command line asks for; returns the exit code. Errors are exceptions.
using Action = std::function<int()>;

// Each adds a subcommand to the app, whose callback sets *action.
void AddRun(CLI::App& app, Action* action);
void AddExplain(CLI::App& app, Action* action);
void AddCheck(CLI::App& app, Action* action);
void AddBench(CLI::App& app, Action* action);
void AddInfo(CLI::App& app, Action* action);
// Hidden ones, for packaging: made from the options that the others declared.
void AddCompletion(CLI::App& app, Action* action);
void AddMan(CLI::App& app, Action* action);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_COMMAND_H_
