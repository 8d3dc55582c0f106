// Owned bytes for packed filters and scratch memory, aligned for the widest vectors.
#ifndef DGRAD_BASE_ALIGNED_BUFFER_H_
#define DGRAD_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/base/status.h"

namespace dgrad {

// Move-only. The bytes are uninitialised. Nothing here throws, except for the text of an error.
class AlignedBuffer {
 public:
  static constexpr int64_t kAlignment = 64;
  // From kHugeFrom bytes on the buffer begins on a huge page and asks for huge ones.
  static constexpr int64_t kHugePage = int64_t{2} << 20;
  static constexpr int64_t kHugeFrom = int64_t{4} << 20;

  // bytes >= 0; 0 gives an empty buffer with null data. A failure is OutOfMemory, names the bytes
  // and leaves *buffer alone.
  static Status Allocate(int64_t bytes, AlignedBuffer* buffer);

  AlignedBuffer() = default;
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer old(std::move(*this));
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }  // bytes, as asked for

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace dgrad

#endif  // DGRAD_BASE_ALIGNED_BUFFER_H_
