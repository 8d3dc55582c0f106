// Shape files: one problem string a line. After spaces a '#' and a name may follow; other text
// after a '#' is a comment. A line '!invalid_argument STRING' tells that the library must refuse
// it, with that status.
#ifndef DGRAD_CLI_SHAPES_H_
#define DGRAD_CLI_SHAPES_H_

#include <dgrad/dgrad.hpp>
#include <string>
#include <vector>

namespace dgrad::cli {

struct ShapeLine {
  std::string problem;               // the string
  std::string name;                  // what people call it; may be empty
  std::string where;                 // "shapes/suite.txt:3", empty for the command line
  dgrad_status expected = DGRAD_OK;  // the status of making the problem
};

// Every problem that the names stand for: problem strings, files, folders (their *.txt, by name).
// A string that is no problem is a UsageError, a file that can't be read or understood a Failure.
// A string of the command line may have a mark, too.
std::vector<ShapeLine> ReadShapes(const std::vector<std::string>& names);

// "invalid_argument"
std::string NameOfStatus(dgrad_status status);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_SHAPES_H_
