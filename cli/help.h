// The layout of --help.
#ifndef DGRAD_CLI_HELP_H_
#define DGRAD_CLI_HELP_H_

#include <CLI/CLI.hpp>
#include <string>

namespace dgrad::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }

  // Paragraphs are wrapped; lines that begin with two spaces, which are examples, are not.
  std::string make_footer(const CLI::App* app) const override;
  // The type, without the options that exclude this one.
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_HELP_H_
