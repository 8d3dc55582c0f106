// dgrad man: the manual page, made from the options of the commands.
#include <dgrad/dgrad.hpp>

#include "command.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

// Text as roff: backslashes, hyphens that are meant as such, and no line that begins with a dot.
std::string Roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if ((c == '.' || c == '\'') && (roff.empty() || roff.back() == '\n')) {
      roff += std::string("\\&") + c;
    } else {
      roff += c;
    }
  }
  return roff;
}

// One option or positional.
std::string Entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += ", -" + name;
  for (const std::string& name : option.get_lnames()) names += ", --" + name;
  std::string entry =
      ".TP\n\\fB" + Roff(names.empty() ? option.get_name() : names.substr(2)) + "\\fR";
  if (!names.empty() && option.get_items_expected_max() != 0) {
    entry += " \\fI" + Roff(option.get_type_name()) + "\\fR";
  }
  return entry + "\n" + Roff(option.get_description()) + "\n";
}

// Lines that begin with two spaces are examples: they are not filled.
std::string Paragraphs(const std::string& text) {
  std::string roff;
  bool literal = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const bool example = line.starts_with("  ");
    if (example != literal) roff += example ? ".nf\n" : ".fi\n";
    literal = example;
    roff += line.empty() ? ".PP\n" : Roff(line) + "\n";
  }
  return roff + (literal ? ".fi\n" : "");
}

std::string Options(const CLI::App& app) {
  std::string roff;
  for (const CLI::Option* option : app.get_options()) roff += Entry(*option);
  return roff;
}

std::string Page(const CLI::App& app) {
  std::string roff =
      ".TH DGRAD 1 \"\" \"dgrad " + version() + "\" \"User Commands\"\n" +
      ".SH NAME\ndgrad \\- gradient of a 2\\-D convolution with respect to its input\n" +
      ".SH SYNOPSIS\n\\fBdgrad\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n" + ".SH DESCRIPTION\n" +
      Paragraphs(app.get_description()) + ".SH OPTIONS\n" + Options(app) + ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;
    roff += ".SS dgrad " + command->get_name() + "\n" + Roff(command->get_description()) + ".\n" +
            Options(*command) + ".PP\n" + Paragraphs(command->get_footer());
  }
  roff += ".SH ENVIRONMENT\n";
  roff += ".TP\n\\fBDGRAD_ISA\\fR\nUpper bound of the instruction set, as \\-\\-isa.\n";
  roff += ".TP\n\\fBDGRAD_NUM_THREADS\\fR\nDefault number of threads.\n";
  roff += ".TP\n\\fBNO_COLOR\\fR\nIf not empty, no colours even on a terminal.\n";
  return roff + ".SH NOTES\n" + Paragraphs(app.get_footer());
}

}  // namespace

void AddMan(CLI::App& app, Action* action) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->group("");  // hidden
  command->callback([action, &app] {
    *action = [&app] {
      Out().Write(Page(app));
      return kOk;
    };
  });
}

}  // namespace dgrad::cli
