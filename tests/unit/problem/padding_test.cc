#include "src/problem/padding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace dgrad {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Case {
  Padding padding;
  int64_t in, taps, stride, dilation, before, after;  // pads given, for kExplicit
  int64_t out, resolved_before, resolved_after;
};

Axis AxisOf(const Case& c) {
  return {.in = c.in,
          .out = 0,
          .taps = c.taps,
          .stride = c.stride,
          .dilation = c.dilation,
          .pad_before = c.before,
          .pad_after = c.after};
}

std::string Describe(const Case& c) {
  return "padding " + std::to_string(static_cast<int>(c.padding)) + " in " + std::to_string(c.in) +
         " taps " + std::to_string(c.taps) + " stride " + std::to_string(c.stride) + " dilation " +
         std::to_string(c.dilation) + " pads " + std::to_string(c.before) + " " +
         std::to_string(c.after);
}

TEST(PaddingTest, Resolves) {
  constexpr Padding kValid = Padding::kValid;
  constexpr Padding kSame = Padding::kSame;
  constexpr Padding kExplicit = Padding::kExplicit;
  constexpr int64_t kStride = 2147483647;
  const Case cases[] = {
      // padding, in, taps, stride, dilation, given pads, out, pads
      {kValid, 4, 3, 1, 1, 0, 0, 2, 0, 0},
      {kValid, 5, 2, 2, 1, 0, 0, 2, 0, 0},  // the last cell is not reached
      {kValid, 7, 3, 1, 2, 0, 0, 3, 0, 0},  // reach 5
      {kValid, 2, 3, 1, 1, 0, 0, 0, 0, 0},  // exactly 0
      {kValid, 3, 5, 4, 1, 0, 0, 0, 0, 0},  // (3 - 5 + 4) / 4 = 2 / 4
      {kValid, 1, 3, 2, 1, 0, 0, 0, 0, 0},  // (1 - 3 + 2) / 2
      {kValid, 1, 6, 4, 1, 0, 0, 0, 0, 0},  // -1 / 4 is truncated to 0, not floored to -1
      {kValid, 4, 0, 1, 1, 0, 0, 5, 0, 0},  // no taps: reach 0
      {kValid, 4, 0, 1, 3, 0, 0, 7, 0, 0},  // no taps, dilated: reach 1 - 3
      {kValid, 0, 1, 1, 1, 0, 0, 0, 0, 0},
      {kValid, 4, 3, kStride, 1, 0, 0, 1, 0, 0},
      {kValid, 4, 3, kMax, 1, 0, 0, 1, 0, 0},  // in - reach + stride does not fit int64
      {kValid, 2, 3, kMax, 1, 0, 0, 0, 0, 0},
      {kValid, kMax - 1, 1, 1, 1, 0, 0, kMax - 1, 0, 0},
      {kSame, 4, 3, 1, 1, 0, 0, 4, 1, 1},
      {kSame, 4, 2, 1, 1, 0, 0, 4, 0, 1},  // an odd total: the extra zero after
      {kSame, 4, 4, 1, 1, 0, 0, 4, 1, 2},
      {kSame, 6, 3, 2, 1, 0, 0, 3, 0, 1},
      {kSame, 5, 3, 2, 1, 0, 0, 3, 1, 1},
      {kSame, 5, 1, 2, 1, 0, 0, 3, 0, 0},
      {kSame, 5, 2, 4, 1, 0, 0, 2, 0, 1},
      {kSame, 8, 1, 4, 1, 0, 0, 2, 0, 0},  // needed padding is negative: 0
      {kSame, 9, 3, 1, 4, 0, 0, 9, 4, 4},
      {kSame, 0, 3, 1, 1, 0, 0, 0, 1, 1},  // total = -1 + 3 - 0
      {kSame, 4, 0, 1, 1, 0, 0, 4, 0, 0},
      {kSame, 4, 3, kStride, 1, 0, 0, 1, 0, 0},
      {kSame, 4, 3, kMax, 1, 0, 0, 1, 0, 0},
      {kSame, kMax, 1, kMax, 1, 0, 0, 1, 0, 0},
      {kExplicit, 4, 3, 1, 1, 1, 1, 4, 1, 1},
      {kExplicit, 4, 3, 2, 1, 0, 1, 2, 0, 1},
      {kExplicit, 4, 3, 1, 1, 7, 5, 14, 7, 5},  // pads beyond the filter
      {kExplicit, 1, 1, 1 << 20, 1, 1 << 20, 1 << 20, 3, 1 << 20, 1 << 20},
      {kExplicit, 1, 1, kStride, 1, kStride, kStride, 3, kStride, kStride},
      {kExplicit, 0, 3, 1, 1, 1, 1, 0, 1, 1},
      {kExplicit, 0, 3, 1, 1, 2, 1, 1, 2, 1},
      {kExplicit, 4, 0, 1, 1, 1, 1, 7, 1, 1},
      {kExplicit, 4, 3, kMax, 1, kMax - 4, 0, 1, kMax - 4, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Describe(c));
    Axis axis = AxisOf(c);
    const Status status = ResolvePadding(c.padding, "height", &axis);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(axis.out, c.out);
    EXPECT_EQ(axis.pad_before, c.resolved_before);
    EXPECT_EQ(axis.pad_after, c.resolved_after);
    EXPECT_EQ(axis.in, c.in);
    EXPECT_EQ(axis.taps, c.taps);
  }
}

TEST(PaddingTest, ValidAndSameIgnorePadsAlreadySet) {
  Axis axis = {.in = 4, .taps = 3, .pad_before = 9, .pad_after = 9};
  ASSERT_TRUE(ResolvePadding(Padding::kValid, "height", &axis).ok());
  EXPECT_EQ(axis.out, 2);
  EXPECT_EQ(axis.pad_before, 0);
  EXPECT_EQ(axis.pad_after, 0);
}

TEST(PaddingTest, RefusesNegativeSizesAndOverflow) {
  struct Refusal {
    Case given;
    const char* words[3];
  };
  const int64_t kHalf = int64_t{1} << 62;
  const Refusal refusals[] = {
      {{Padding::kValid, 1, 3, 1, 1, 0, 0, 0, 0, 0}, {"input size 1", "filter size 3", "give -1"}},
      {{Padding::kValid, 1, 9, 4, 1, 0, 0, 0, 0, 0}, {"filter size 9", "stride 4", "give -1"}},
      {{Padding::kValid, 4, 3, 1, 2147483647, 0, 0, 0, 0, 0},
       {"input size 4", "dilation 2147483647", "give -4294967290"}},
      {{Padding::kValid, 4, 3, 1, kMax, 0, 0, 0, 0, 0},
       {"filter size 3", "dilation 9223372036854775807", "64-bit"}},
      {{Padding::kValid, kMax, 0, 1, 1, 0, 0, 0, 0, 0},
       {"input size 9223372036854775807", "64-bit", ""}},
      {{Padding::kSame, 4, 3, 1, kMax, 0, 0, 0, 0, 0}, {"filter size 3", "64-bit", ""}},
      {{Padding::kSame, kMax, 2, 1, 1, 0, 0, 0, 0, 0},
       {"input size 9223372036854775807", "64-bit", ""}},
      {{Padding::kExplicit, 4, 3, 1, 1, kMax, kMax, 0, 0, 0},
       {"explicit_paddings", "9223372036854775807 before", "64-bit"}},
      {{Padding::kExplicit, 4, 3, 1, 1, kHalf, kHalf, 0, 0, 0},
       {"explicit_paddings", "4611686018427387904 after", "64-bit"}},
      {{Padding::kExplicit, 1, 5, 1, 1, 1, 1, 0, 0, 0},
       {"explicit_paddings 1", "filter size 5", "give -1"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(Describe(refusal.given));
    Axis axis = AxisOf(refusal.given);
    const Axis before = axis;
    const Status status = ResolvePadding(refusal.given.padding, "width", &axis);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("width"), std::string::npos) << status.message();
    for (const char* word : refusal.words) {
      EXPECT_NE(status.message().find(word), std::string::npos)
          << "no '" << word << "' in: " << status.message();
    }
    EXPECT_EQ(axis, before);
  }
}

}  // namespace
}  // namespace dgrad
