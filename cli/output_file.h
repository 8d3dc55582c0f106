// A file that appears whole or not at all: written under a temporary name in the same folder,
// synced, then renamed.
#ifndef DGRAD_CLI_OUTPUT_FILE_H_
#define DGRAD_CLI_OUTPUT_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dgrad::cli {

class OutputFile {
 public:
  // Throws a Failure if the path can't be written, or if a file is there and `force` is false; so
  // that long work isn't begun for nothing. Devices, pipes and folders are never replaced. A
  // symbolic link stays one; its goal is written.
  OutputFile(const std::string& path, bool force);
  // Without a Commit nothing is left.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::span<const std::byte> bytes);
  void Write(std::string_view text);
  // The file is there, on the disk, when this returns. Throws a Failure, also if somebody else made
  // a file of that name meanwhile and `force` is false.
  void Commit();

 private:
  [[noreturn]] void Fail(int error) const;

  std::string given_;      // as the user wrote it
  std::string path_;       // links followed
  std::string temporary_;  // empty when there is none
  int descriptor_ = -1;
  bool force_;
};

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_OUTPUT_FILE_H_
