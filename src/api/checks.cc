#include "src/api/checks.h"

#include <cstring>

#include "src/base/text.h"

namespace dgrad {

Status CheckLength(const char* name, const void* data, uint64_t given_bytes, int64_t needed_bytes) {
  const auto needed = static_cast<uint64_t>(needed_bytes);
  if (data == nullptr && (needed > 0 || given_bytes > 0)) {
    return InvalidArgument(Concat(name, " is null, with ", name, "_bytes = ", given_bytes, "; ",
                                  needed, " bytes are needed, and null is legal only for 0 bytes"));
  }
  if (given_bytes < needed) {
    return InvalidArgument(
        Concat(name, "_bytes is ", given_bytes, "; at least ", needed, " bytes are needed"));
  }
  return Status();
}

Status CheckTensor(const char* name, const void* data, uint64_t given_bytes, int64_t needed_bytes,
                   DType dtype) {
  DGRAD_RETURN_IF_ERROR(CheckLength(name, data, given_bytes, needed_bytes));
  const auto alignment = static_cast<uintptr_t>(SizeOf(dtype));
  const uintptr_t excess = reinterpret_cast<uintptr_t>(data) % alignment;
  if (needed_bytes > 0 && excess != 0) {
    return InvalidArgument(
        Concat(name, " lies ", excess,
               " bytes past an element boundary; its address must be a multiple of ", alignment,
               ", the size of ", Name(dtype)));
  }
  return Status();
}

Status CheckDisjoint(const Region& a, const Region& b) {
  if (a.bytes == 0 || b.bytes == 0) return Status();
  const auto first = reinterpret_cast<uintptr_t>(a.data);
  const auto second = reinterpret_cast<uintptr_t>(b.data);
  // Unsigned distances, so no sum can wrap around: one start lies inside the other region.
  if (second - first < static_cast<uintptr_t>(a.bytes) ||
      first - second < static_cast<uintptr_t>(b.bytes)) {
    return InvalidArgument(Concat(a.name, " (", a.bytes, " bytes) and ", b.name, " (", b.bytes,
                                  " bytes) overlap in memory; they must be disjoint"));
  }
  return Status();
}

Status CheckOutput(const char* name, const void* pointer) {
  if (pointer == nullptr) {
    return InvalidArgument(Concat(name, " is null; a pointer to receive the result is needed"));
  }
  return Status();
}

Status WriteText(std::string_view text, char* buffer, uint64_t buffer_bytes, uint64_t* size) {
  const uint64_t needed = uint64_t{text.size()} + 1;
  const bool fits = buffer != nullptr && buffer_bytes >= needed;
  if (!fits && size == nullptr) {
    if (buffer == nullptr) return InvalidArgument("buffer and size are both null; one is needed");
    return InvalidArgument(Concat("buffer_bytes is ", buffer_bytes, "; the text needs ", needed,
                                  " bytes, and size is null"));
  }
  if (fits) {
    std::memcpy(buffer, text.data(), text.size());
    buffer[text.size()] = '\0';
  }
  if (size != nullptr) *size = needed;
  return Status();
}

}  // namespace dgrad
