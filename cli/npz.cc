#include "npz.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <vector>

#include "error.h"
#include "interrupt.h"
#include "text.h"

namespace dgrad::cli {
namespace {

// Deflate can't do better: 258 bytes cost two bits at least.
constexpr uint64_t kMostInflation = 1032;
constexpr size_t kMostListed = 20;
constexpr std::string_view kSuffix = ".npy";

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

Archive Open(const std::string& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Failure("can't read the archive " + Quote(path) + ": " + text);
  }
  return archive;
}

// Names of the arrays, with their index in the archive.
struct Member {
  std::string array;
  zip_uint64_t index;
};

std::vector<Member> List(zip_t* archive) {
  std::vector<Member> members;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* name = zip_get_name(archive, index, 0);
    const std::string_view text = name == nullptr ? "" : name;
    if (!text.ends_with(kSuffix)) continue;
    members.push_back({std::string(text.substr(0, text.size() - kSuffix.size())), index});
  }
  return members;
}

std::string ListOf(const std::vector<Member>& members) {
  if (members.empty()) return "it has no arrays";
  std::vector<std::string> names;
  for (const Member& member : members) {
    if (names.size() == kMostListed) {
      names.emplace_back("...");
      break;
    }
    names.push_back(Quote(member.array));
  }
  return "its arrays are " + Join(names, ", ");
}

zip_uint64_t Find(const std::vector<Member>& members, const std::string& path,
                  const std::string& array, const std::string& usual) {
  if (array.empty() && members.size() == 1) return members[0].index;
  const std::string& name = array.empty() ? usual : array;
  const Member* found = nullptr;
  for (const Member& member : members) {
    if (member.array != name) continue;
    if (found != nullptr) throw Failure(Quote(path) + " has two arrays called " + Quote(name));
    found = &member;
  }
  if (found == nullptr) {
    throw Failure(Quote(path) + " has no array called " + Quote(name) + "; " + ListOf(members) +
                  (array.empty() ? "; FILE:ARRAY picks one" : ""));
  }
  return found->index;
}

class MemberSource : public ByteSource {
 public:
  MemberSource(const std::string& path, const std::string& array, const std::string& usual)
      : archive_(Open(path)), name_(Quote(path)) {
    const std::vector<Member> members = List(archive_.get());
    const zip_uint64_t index = Find(members, path, array, usual);
    for (const Member& member : members) {
      if (member.index == index) name_ = Quote(path + ":" + member.array);
    }
    zip_stat_t found;
    if (zip_stat_index(archive_.get(), index, 0, &found) != 0) {
      Fail(zip_get_error(archive_.get()));
    }
    if ((found.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && found.encryption_method != ZIP_EM_NONE) {
      throw Failure(name_ + " is encrypted");
    }
    if ((found.valid & ZIP_STAT_COMP_METHOD) == 0 ||
        (found.comp_method != ZIP_CM_STORE && found.comp_method != ZIP_CM_DEFLATE)) {
      throw Failure(name_ + " is compressed by method " + std::to_string(found.comp_method) +
                    "; stored and deflated arrays can be read");
    }
    const uint64_t inflation = found.comp_method == ZIP_CM_DEFLATE ? kMostInflation : 1;
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(path, error);
    left_ = error || bytes > std::numeric_limits<uint64_t>::max() / inflation
                ? std::numeric_limits<uint64_t>::max()
                : bytes * inflation;
    file_.reset(zip_fopen_index(archive_.get(), index, 0));
    if (file_ == nullptr) Fail(zip_get_error(archive_.get()));
  }

  size_t Read(std::span<std::byte> to) override {
    StopIfInterrupted();
    const size_t size = std::min(to.size(), size_t{1} << 22);
    const zip_int64_t got = zip_fread(file_.get(), to.data(), size);
    if (got < 0) Fail(zip_file_get_error(file_.get()));
    left_ -= std::min(left_, static_cast<uint64_t>(got));
    return static_cast<size_t>(got);
  }

  uint64_t MostLeft() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  [[noreturn]] void Fail(zip_error_t* error) const {
    throw Failure("can't read " + name_ + ": " + zip_error_strerror(error));
  }

  Archive archive_;
  std::unique_ptr<zip_file_t, CloseMember> file_;
  std::string name_;
  uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> OpenMember(const std::string& path, const std::string& array,
                                       const std::string& usual) {
  return std::make_unique<MemberSource>(path, array, usual);
}

std::unique_ptr<ByteSource> OpenTensor(const std::string& tensor, const std::string& usual) {
  std::error_code error;
  const bool there = std::filesystem::exists(tensor, error);
  // A colon may be a part of the file's name, or of the array's.
  for (size_t colon = tensor.find(':'); !there && colon != std::string::npos;
       colon = tensor.find(':', colon + 1)) {
    const std::string path = tensor.substr(0, colon);
    if (path.empty() || !std::filesystem::is_regular_file(path, error)) continue;
    if (!IsArchive(path)) throw Failure(Quote(path) + " is no archive, so it has no named arrays");
    if (colon + 1 == tensor.size()) throw Failure(Quote(tensor) + " lacks a name after the colon");
    return OpenMember(path, tensor.substr(colon + 1), usual);
  }
  if (there && IsArchive(tensor)) return OpenMember(tensor, "", usual);
  return OpenFile(tensor);
}

}  // namespace dgrad::cli
