// Exit codes, and the exceptions that stand for them.
#ifndef DGRAD_CLI_ERROR_H_
#define DGRAD_CLI_ERROR_H_

#include <stdexcept>

namespace dgrad::cli {

constexpr int kOk = 0;
constexpr int kFailed = 1;  // a file, the machine, a wrong result
constexpr int kUsage = 2;   // the command line is wrong

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_ERROR_H_
