#include "src/base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

// Sanitizers end the program where the C library returns null, unless they are told not to.
extern "C" const char* __asan_default_options();
extern "C" const char* __tsan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace dgrad {
namespace {

static_assert(!std::is_copy_constructible_v<AlignedBuffer>);
static_assert(!std::is_copy_assignable_v<AlignedBuffer>);
static_assert(std::is_nothrow_move_constructible_v<AlignedBuffer>);
static_assert(std::is_nothrow_move_assignable_v<AlignedBuffer>);

bool IsAligned(const void* pointer, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(alignment) == 0;
}

TEST(AlignedBufferTest, IsAlignedAndWritable) {
  const int64_t huge = AlignedBuffer::kHugeFrom;
  for (int64_t bytes : {int64_t{1}, int64_t{63}, int64_t{64}, int64_t{65}, int64_t{100000},
                        huge - 1, huge, huge + 1, 2 * huge + 12345}) {
    AlignedBuffer buffer;
    ASSERT_TRUE(AlignedBuffer::Allocate(bytes, &buffer).ok()) << bytes;
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_TRUE(IsAligned(buffer.data(), AlignedBuffer::kAlignment)) << bytes;
    if (bytes >= huge) {
      EXPECT_TRUE(IsAligned(buffer.data(), AlignedBuffer::kHugePage)) << bytes;
    }
    std::memset(buffer.data(), 0xA5, static_cast<size_t>(bytes));
    EXPECT_EQ(buffer.data()[bytes - 1], std::byte{0xA5});
  }
}

TEST(AlignedBufferTest, ZeroBytesAreNoBuffer) {
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(8, &buffer).ok());
  ASSERT_TRUE(AlignedBuffer::Allocate(0, &buffer).ok());
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0);
}

TEST(AlignedBufferTest, TooMuchIsOutOfMemoryAndChangesNothing) {
  AlignedBuffer buffer;
  ASSERT_TRUE(AlignedBuffer::Allocate(8, &buffer).ok());
  const std::byte* before = buffer.data();
  for (int64_t bytes : {int64_t{1} << 62, std::numeric_limits<int64_t>::max()}) {
    const Status status = AlignedBuffer::Allocate(bytes, &buffer);
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_NE(status.message().find(std::to_string(bytes)), std::string::npos) << status.message();
  }
  EXPECT_EQ(AlignedBuffer::Allocate(-1, &buffer).code(), Code::kInternal);
  EXPECT_EQ(buffer.data(), before);
  EXPECT_EQ(buffer.size(), 8);
}

TEST(AlignedBufferTest, Moves) {
  AlignedBuffer a;
  AlignedBuffer b;
  ASSERT_TRUE(AlignedBuffer::Allocate(100, &a).ok());
  ASSERT_TRUE(AlignedBuffer::Allocate(200, &b).ok());
  std::byte* of_a = a.data();
  b = std::move(a);
  EXPECT_EQ(b.data(), of_a);
  EXPECT_EQ(b.size(), 100);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move): it is empty, by contract
  EXPECT_EQ(a.size(), 0);
  AlignedBuffer c(std::move(b));
  EXPECT_EQ(c.data(), of_a);
  EXPECT_EQ(b.data(), nullptr);  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace dgrad
