#include "byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "error.h"
#include "interrupt.h"
#include "text.h"

namespace dgrad::cli {
namespace {

class File : public ByteSource {
 public:
  explicit File(const std::string& path) : name_(path == "-" ? "standard input" : Quote(path)) {
    descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) Fail();
    struct stat found = {};
    if (::fstat(descriptor_, &found) != 0) Fail();
    if (S_ISDIR(found.st_mode)) throw Failure(name_ + " is a folder");
    if (S_ISREG(found.st_mode) && descriptor_ != STDIN_FILENO) {
      left_ = static_cast<uint64_t>(found.st_size);
    }
  }
  ~File() override {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }

  size_t Read(std::span<std::byte> to) override {
    // The kernel takes at most 2 GiB at once, and a signal should be heard in between.
    const size_t size = std::min(to.size(), size_t{1} << 26);
    for (;;) {
      StopIfInterrupted();
      const ssize_t got = ::read(descriptor_, to.data(), size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) Fail();
      if (left_ != kUnknown) left_ -= std::min(left_, static_cast<uint64_t>(got));
      return static_cast<size_t>(got);
    }
  }

  uint64_t MostLeft() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  static constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

  [[noreturn]] void Fail() const {
    throw Failure("can't read " + name_ + ": " + std::strerror(errno));
  }

  std::string name_;
  int descriptor_ = -1;
  uint64_t left_ = kUnknown;
};

}  // namespace

std::unique_ptr<ByteSource> OpenFile(const std::string& path) {
  return std::make_unique<File>(path);
}

bool IsArchive(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  char start[4] = {};
  const std::unique_ptr<ByteSource> file = OpenFile(path);
  size_t size = 0;
  while (size < sizeof(start)) {
    const size_t got = file->Read(std::as_writable_bytes(std::span(start)).subspan(size));
    if (got == 0) break;
    size += got;
  }
  // A first member, or none at all.
  return std::memcmp(start, "PK\3\4", 4) == 0 || std::memcmp(start, "PK\5\6", 4) == 0;
}

}  // namespace dgrad::cli
