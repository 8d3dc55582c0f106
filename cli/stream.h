// Standard output, whose every write is checked: a full disk or a closed pipe is a Failure.
#ifndef DGRAD_CLI_STREAM_H_
#define DGRAD_CLI_STREAM_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dgrad::cli {

// Writes everything or throws a Failure that names `what`; goes on after interrupted writes.
void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& what);

// Buffered text to standard output.
class Stream {
 public:
  void Write(std::string_view text);
  void Line(std::string_view text);  // with a newline, and visible at once
  void WriteBytes(std::span<const std::byte> bytes);
  void Flush();
  // Flushes and closes the descriptor; some file systems tell of a full disk only here.
  void Close();

  bool is_terminal() const;
  // The text in colour (an SGR number, such as 31 for red) if people look at a terminal.
  std::string Colour(int sgr, std::string_view text) const;

 private:
  std::string buffer_;
};

Stream& Out();

// One line of standard error, after "dgrad: ". Failures to write it are nobody's to hear.
void Complain(const std::string& text);

// A terminal that understands escape sequences.
bool IsTerminal(int descriptor);

// Makes sure that descriptors 0 to 2 are taken, so that no file of ours becomes one of them;
// writing to one that was closed stays an error.
void TakeStandardDescriptors();

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_STREAM_H_
