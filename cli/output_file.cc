#include "output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "error.h"
#include "stream.h"
#include "text.h"

namespace dgrad::cli {
namespace {

// The mode that open() would give a new file.
mode_t DefaultMode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Renames, but never over a file that is there. Returns an errno, 0 when done.
int RenameNew(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system without it: a link fails as well if the name is taken.
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  ::unlink(from.c_str());
  return 0;
}

}  // namespace

OutputFile::OutputFile(const std::string& path, bool force)
    : given_(path), path_(path), force_(force) {
  if (path.empty() || path.back() == '/') {
    throw Failure("can't write " + Quote(path) + ": the name of a file is needed");
  }
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    path_ = std::filesystem::canonical(path, error).string();
    if (error) throw Failure("can't write " + Quote(path) + ": " + error.message());
  }
  mode_t mode = DefaultMode();
  struct stat found = {};
  if (::stat(path_.c_str(), &found) == 0) {
    if (!S_ISREG(found.st_mode)) {
      throw Failure("can't write " + Quote(path) + ": it is there and no regular file");
    }
    if (!force) throw Failure(Quote(path) + " exists; --force overwrites it");
    mode = found.st_mode & 0777;
  } else if (errno != ENOENT) {
    Fail(errno);
  }
  const std::string folder = FolderOf(path_);
  // Not of the file's own name, which may be as long as names can be.
  std::string name = (folder == "/" ? "" : folder) + "/.dgrad-XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) Fail(errno);
  temporary_ = name;
  if (::fchmod(descriptor_, mode) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
    Fail(reason);
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::Fail(int error) const {
  throw Failure("can't write " + Quote(given_) + ": " + std::strerror(error));
}

void OutputFile::Write(std::span<const std::byte> bytes) {
  WriteAll(descriptor_, bytes, Quote(given_));
}

void OutputFile::Write(std::string_view text) {
  Write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::Commit() {
  if (::fsync(descriptor_) != 0) Fail(errno);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && errno != EINTR) Fail(errno);
  if (force_) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(errno);
  } else {
    const int error = RenameNew(temporary_, path_);
    if (error == EEXIST) throw Failure(Quote(given_) + " exists by now; --force overwrites it");
    if (error != 0) Fail(error);
  }
  temporary_.clear();
  // The new name is on the disk only when the folder is. Some file systems can't sync folders.
  const int folder = ::open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

}  // namespace dgrad::cli
