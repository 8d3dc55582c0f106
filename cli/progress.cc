#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "error.h"
#include "stream.h"

namespace dgrad::cli {
namespace {

using namespace std::chrono_literals;

// To standard error; a failure must not end the work.
void Print(const std::string& text) {
  try {
    WriteAll(STDERR_FILENO, std::as_bytes(std::span(text)), "standard error");
  } catch (const Failure&) {
  }
}

size_t Columns() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
  return size.ws_col - size_t{1};
}

}  // namespace

Progress::Progress()
    : terminal_(IsTerminal(STDERR_FILENO)), next_(start_ + (terminal_ ? 1s : 10s)) {}

Progress::~Progress() { Clear(); }

void Progress::Tell(const std::string& what) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(100ms) : Clock::duration(10s));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  const std::string text = what + " (" + std::to_string(seconds) + " s)";
  if (terminal_) {
    Print("\r\x1b[K" + text.substr(0, Columns()));
    visible_ = true;
  } else {
    Print(text + "\n");
  }
}

void Progress::Clear() {
  if (visible_) Print("\r\x1b[K");
  visible_ = false;
}

}  // namespace dgrad::cli
