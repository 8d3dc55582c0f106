// Bytes that are read from front to back: a file, a pipe, or a member of an archive.
#ifndef DGRAD_CLI_BYTE_SOURCE_H_
#define DGRAD_CLI_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dgrad::cli {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills as much of `to` as there is; 0 at the end only. Throws a Failure.
  virtual size_t Read(std::span<std::byte> to) = 0;
  // No more than this can follow what was read so far, as far as anybody can know beforehand:
  // nobody's word, but the size of a file or the limit of a compression.
  virtual uint64_t MostLeft() const = 0;
  // For messages.
  virtual const std::string& name() const = 0;
};

// The file or pipe of that path; "-" is standard input.
std::unique_ptr<ByteSource> OpenFile(const std::string& path);

// True if the file begins as zip archives do. False for what can't be read twice, such as pipes.
bool IsArchive(const std::string& path);

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_BYTE_SOURCE_H_
