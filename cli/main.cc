// dgrad: the library on the command line.
#include <dgrad/dgrad.hpp>
#include <memory>
#include <new>

#include "command.h"
#include "help.h"
#include "interrupt.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

constexpr const char* kDescription =
    "The gradient of a 2-D convolution with respect to its input (TensorFlow's "
    "conv2d_backprop_input), on the command line.";

constexpr const char* kFooter =
    "Examples:\n"
    "  dgrad run --filter f.npy --out-backprop g.npy --input-sizes 8,56,56,64 --strides 1,2,2,1 "
    "--padding SAME -o result.npy\n"
    "  dgrad explain n8_h56w56c64_k3x3_oc128_s2x2\n"
    "  dgrad check shapes/\n"
    "  dgrad bench shapes/suite.txt --json out.json\n"
    "\n"
    "A problem string such as n8_h56w56c64_k3x3_oc128_s2x2_psame_f16 gives the batch, height, "
    "width "
    "and channels of in_backprop, filter, channels of out_backprop, stride, padding and type.\n"
    "\n"
    "Exit codes: 0 done, 1 it failed, 2 the command line is wrong.";

// Parses; returns false if there is nothing left to do, with the exit code.
bool Parse(CLI::App& app, int argc, char** argv, int* code) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    Out().Write(app.help());
    *code = kOk;
  } catch (const CLI::CallForVersion& version) {
    Out().Write(std::string(version.what()) + "\n");
    *code = kOk;
  } catch (const CLI::ParseError& error) {
    std::string command = "dgrad";
    for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
    Complain(std::string(error.what()) + " (see " + command + " --help)");
    *code = kUsage;
  }
  return false;
}

int Run(int argc, char** argv) {
  CLI::App app(kDescription, "dgrad");
  app.footer(kFooter);
  app.set_version_flag("--version", "dgrad " + version(), "Print the version and end");
  app.set_help_flag("-h,--help", "Print this help and end");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());  // before the commands, which take it over
  Action action;
  AddRun(app, &action);
  AddExplain(app, &action);
  AddCheck(app, &action);
  AddBench(app, &action);
  AddInfo(app, &action);
  AddCompletion(app, &action);
  AddMan(app, &action);
  int code = kOk;
  return Parse(app, argc, argv, &code) ? action() : code;
}

// Every error becomes one line and an exit code.
int RunSafely(int argc, char** argv) {
  try {
    const int code = Run(argc, argv);
    Out().Close();
    return code;
  } catch (const UsageError& error) {
    Complain(error.what());
    return kUsage;
  } catch (const Interrupted&) {
    return kFailed;
  } catch (const CancelledError&) {
    return kFailed;
  } catch (const std::bad_alloc&) {
    Complain("out of memory");
    return kFailed;
  } catch (const std::exception& error) {
    Complain(error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace dgrad::cli

int main(int argc, char** argv) {
  dgrad::cli::TakeStandardDescriptors();
  dgrad::cli::CatchSignals();
  const int code = dgrad::cli::RunSafely(argc, argv);
  // Here, where every temporary file is gone.
  if (dgrad::cli::WasInterrupted()) dgrad::cli::DieOfSignal();
  return code;
}
