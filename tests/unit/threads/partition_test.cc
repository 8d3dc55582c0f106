#include "src/threads/partition.h"

#include <gtest/gtest.h>

#include <limits>

namespace dgrad {
namespace {

TEST(PartitionTest, PartsAreBalancedAndCoverEverything) {
  for (int64_t n = 0; n <= 40; ++n) {
    for (int64_t parts = 1; parts <= 45; ++parts) {
      EXPECT_EQ(PartBegin(n, parts, 0), 0);
      EXPECT_EQ(PartBegin(n, parts, parts), n);
      int64_t before = n / parts + 1;
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t size = PartBegin(n, parts, i + 1) - PartBegin(n, parts, i);
        EXPECT_GE(size, n / parts);
        EXPECT_LE(size, (n + parts - 1) / parts);
        EXPECT_LE(size, before) << "the larger parts come first";
        before = size;
      }
    }
  }
}

TEST(PartitionTest, DoesNotOverflow) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  static_assert(PartBegin(kMax, 7, 7) == kMax);
  static_assert(PartBegin(kMax, kMax, kMax) == kMax);
  static_assert(PartBegin(kMax, 1, 1) == kMax);
}

}  // namespace
}  // namespace dgrad
