#include "src/base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace dgrad {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(CheckedTest, GivesTheExactResultWhenItFits) {
  int64_t result = 0;
  EXPECT_TRUE(CheckedAdd(kMax - 1, 1, &result));
  EXPECT_EQ(result, kMax);
  EXPECT_TRUE(CheckedSub(kMin + 1, 1, &result));
  EXPECT_EQ(result, kMin);
  EXPECT_TRUE(CheckedMul(int64_t{1} << 31, (int64_t{1} << 32) - 1, &result));
  EXPECT_EQ(result, kMax - (int64_t{1} << 31) + 1);
  EXPECT_TRUE(CheckedMul(result, 0, &result));
  EXPECT_EQ(result, 0);
}

TEST(CheckedTest, ReportsOverflow) {
  int64_t result = 0;
  EXPECT_FALSE(CheckedAdd(kMax, 1, &result));
  EXPECT_FALSE(CheckedAdd(kMin, -1, &result));
  EXPECT_FALSE(CheckedSub(kMin, 1, &result));
  EXPECT_FALSE(CheckedSub(0, kMin, &result));
  EXPECT_FALSE(CheckedMul(int64_t{1} << 31, int64_t{1} << 32, &result));
  EXPECT_FALSE(CheckedMul(kMin, -1, &result));
}

}  // namespace
}  // namespace dgrad
