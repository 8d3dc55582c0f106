#include "help.h"

#include <sstream>

namespace dgrad::cli {
namespace {

constexpr size_t kColumns = 90;

std::string Wrap(const std::string& line) {
  std::istringstream words(line);
  std::string wrapped, word;
  size_t column = 0;
  while (words >> word) {
    if (column > 0 && column + 1 + word.size() > kColumns) {
      wrapped += '\n';
      column = 0;
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

}  // namespace

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::istringstream lines(app->get_footer());
  std::string footer;
  for (std::string line; std::getline(lines, line);) {
    footer += (line.starts_with("  ") ? line : Wrap(line)) + "\n";
  }
  return footer;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_items_expected_max() == 0) return "";
  std::string text = " " + option->get_type_name();
  if (option->get_expected_min() > 1) text += " x " + std::to_string(option->get_expected_min());
  if (option->get_required()) text += " (needed)";
  return text;
}

}  // namespace dgrad::cli
