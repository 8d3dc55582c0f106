#include "src/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>

namespace dgrad {

Status AlignedBuffer::Allocate(int64_t bytes, AlignedBuffer* buffer) {
  if (bytes < 0) {
    return Internal("a buffer of " + std::to_string(bytes) + " bytes was asked for");
  }
  AlignedBuffer made;
  if (bytes > 0) {
    const bool huge = bytes >= kHugeFrom;
    const auto alignment = static_cast<size_t>(huge ? kHugePage : kAlignment);
    void* data = nullptr;
    if (posix_memalign(&data, alignment, static_cast<size_t>(bytes)) != 0) {
      return OutOfMemory("no memory for a buffer of " + std::to_string(bytes) + " bytes");
    }
    made.data_ = static_cast<std::byte*>(data);
    made.size_ = bytes;
#if defined(MADV_HUGEPAGE)
    if (huge) {
      // Whole huge pages only: the rest of the last one may hold somebody else's data. Advice may
      // be refused; that costs speed alone.
      (void)madvise(data, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
    }
#endif
  }
  *buffer = std::move(made);
  return {};
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace dgrad
