#include "stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "error.h"

namespace dgrad::cli {
namespace {

constexpr size_t kBuffer = 1 << 16;
constexpr const char* kName = "standard output";

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw Failure("can't write " + what + ": " + std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void Stream::Write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBuffer) Flush();
}

void Stream::Line(std::string_view text) {
  Write(text);
  Write("\n");
  Flush();
}

void Stream::WriteBytes(std::span<const std::byte> bytes) {
  Flush();
  WriteAll(STDOUT_FILENO, bytes, kName);
}

void Stream::Flush() {
  const std::string text = std::move(buffer_);
  buffer_.clear();  // so that a failure isn't met again at the end
  WriteAll(STDOUT_FILENO, AsBytes(text), kName);
}

void Stream::Close() {
  Flush();
  if (::close(STDOUT_FILENO) != 0 && errno != EINTR) {
    throw Failure(std::string("can't write ") + kName + ": " + std::strerror(errno));
  }
}

bool Stream::is_terminal() const { return IsTerminal(STDOUT_FILENO); }

std::string Stream::Colour(int sgr, std::string_view text) const {
  const char* no_colour = std::getenv("NO_COLOR");
  if (!is_terminal() || (no_colour != nullptr && *no_colour != '\0')) return std::string(text);
  return "\x1b[" + std::to_string(sgr) + "m" + std::string(text) + "\x1b[0m";
}

Stream& Out() {
  static Stream stream;
  return stream;
}

void Complain(const std::string& text) {
  const std::string line = "dgrad: " + text + "\n";
  try {
    WriteAll(STDERR_FILENO, AsBytes(line), "standard error");
  } catch (const Failure&) {  // there is nowhere left to say so
  }
}

bool IsTerminal(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

void TakeStandardDescriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Standard input can't be read, the others not written.
    const int opened = ::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
    if (opened < 0) std::_Exit(kFailed);
  }
}

}  // namespace dgrad::cli
