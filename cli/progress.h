// One line on standard error that tells how far work has come: after a second of it, on a terminal
// only, and gone when the work is done. Where there is no terminal, work over ten seconds says so
// in plain lines, one every ten seconds.
#ifndef DGRAD_CLI_PROGRESS_H_
#define DGRAD_CLI_PROGRESS_H_

#include <chrono>
#include <string>

namespace dgrad::cli {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is going on, such as "reading a.npy". Shown at most ten times a second.
  void Tell(const std::string& what);
  // Takes the line away, so that another one can be printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool visible_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_PROGRESS_H_
