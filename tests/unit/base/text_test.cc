#include "src/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace dgrad {
namespace {

TEST(TextTest, JoinsWordsNumbersAndLists) {
  const std::array<int64_t, 3> list = {-1, 0, std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(Concat("got ", 4, " of ", std::string("x"), ": ", std::span<const int64_t>(list)),
            "got 4 of x: [-1, 0, 9223372036854775807]");
  EXPECT_EQ(Concat(std::span<const int64_t>()), "[]");
  EXPECT_EQ(Concat(), "");
}

}  // namespace
}  // namespace dgrad
