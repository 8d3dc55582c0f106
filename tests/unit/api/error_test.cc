#include "src/api/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

namespace dgrad {
namespace {

TEST(LastError, KeepsWhatFits) {
  SetLastError("a text");
  EXPECT_STREQ(dgrad_last_error(), "a text");
  const std::string longest(kLastErrorBytes - 1, 'x');
  SetLastError(longest);
  EXPECT_EQ(dgrad_last_error(), longest);
  SetLastError("");
  EXPECT_STREQ(dgrad_last_error(), "");
}

TEST(LastError, CutsLongTextsBetweenCharacters) {
  const std::string ascii(kLastErrorBytes, 'x');
  SetLastError(ascii);
  EXPECT_EQ(dgrad_last_error(), ascii.substr(0, kLastErrorBytes - 4) + "...");
  for (const std::string character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (size_t shift = 0; shift < character.size(); ++shift) {
      std::string text(shift, 'x');
      while (text.size() < 2 * kLastErrorBytes) text += character;
      SetLastError(text);
      const std::string kept = dgrad_last_error();
      ASSERT_LT(kept.size(), size_t{kLastErrorBytes});
      EXPECT_EQ((kept.size() - 3 - shift) % character.size(), 0u) << "shift " << shift;
      EXPECT_EQ(kept, text.substr(0, kept.size() - 3) + "...");
      // Not one character less than would fit.
      EXPECT_GT(kept.size() + character.size(), size_t{kLastErrorBytes - 1});
    }
  }
}

TEST(LastError, SurvivesBytesThatAreNoText) {
  SetLastError(std::string(3 * kLastErrorBytes, '\x80'));
  EXPECT_LT(std::string(dgrad_last_error()).size(), size_t{kLastErrorBytes});
}

TEST(LastError, TakesItsOwnBuffer) {
  SetLastError("a text");
  SetLastError(dgrad_last_error() + 2);
  EXPECT_STREQ(dgrad_last_error(), "text");
}

TEST(Guard, TurnsEverythingIntoStatus) {
  SetLastError("before");
  EXPECT_EQ(Guard([] { return Status(); }), DGRAD_OK);
  EXPECT_STREQ(dgrad_last_error(), "before");
  EXPECT_EQ(Guard([] { return Unimplemented("not this"); }), DGRAD_UNIMPLEMENTED);
  EXPECT_STREQ(dgrad_last_error(), "not this");
  EXPECT_EQ(Guard([]() -> Status { throw std::bad_alloc(); }), DGRAD_OUT_OF_MEMORY);
  EXPECT_STRNE(dgrad_last_error(), "not this");
  EXPECT_EQ(Guard([]() -> Status { throw std::logic_error("a bug"); }), DGRAD_INTERNAL);
  EXPECT_STREQ(dgrad_last_error(), "a bug");
  EXPECT_EQ(Guard([]() -> Status { throw 7; }), DGRAD_INTERNAL);
  EXPECT_STRNE(dgrad_last_error(), "a bug");
}

}  // namespace
}  // namespace dgrad
