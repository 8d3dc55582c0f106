#include "src/api/structs.h"

#include <algorithm>
#include <cstring>

#include "src/base/text.h"

namespace dgrad {
namespace {

Status CheckedSize(const char* name, const void* given, uint64_t first_size, uint64_t* size) {
  if (given == nullptr) return InvalidArgument(Concat(name, " is null"));
  std::memcpy(size, given, sizeof(*size));
  if (*size < first_size || *size > kMaxStructSize) {
    return InvalidArgument(Concat(name, "->struct_size is ", *size,
                                  "; it must be the sizeof of the struct, from ", first_size,
                                  " to ", kMaxStructSize));
  }
  return Status();
}

}  // namespace

Status ReadStructBytes(const char* name, const void* given, uint64_t first_size, uint64_t size,
                       void* out) {
  uint64_t given_size = 0;
  DGRAD_RETURN_IF_ERROR(CheckedSize(name, given, first_size, &given_size));
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (uint64_t i = size; i < given_size; ++i) {
    if (bytes[i] != 0) {
      return InvalidArgument(
          Concat(name, "->struct_size is ", given_size, " and byte ", i,
                 " is not zero: this library is older than the caller and knows ", size,
                 " bytes, the rest must be zero"));
    }
  }
  std::memset(out, 0, size);
  std::memcpy(out, given, std::min(size, given_size));
  return Status();
}

Status WriteStructBytes(const char* name, const void* filled, uint64_t first_size, uint64_t size,
                        void* out) {
  uint64_t given_size = 0;
  DGRAD_RETURN_IF_ERROR(CheckedSize(name, out, first_size, &given_size));
  std::memcpy(static_cast<unsigned char*>(out) + sizeof(given_size),
              static_cast<const unsigned char*>(filled) + sizeof(given_size),
              std::min(size, given_size) - sizeof(given_size));
  return Status();
}

}  // namespace dgrad
