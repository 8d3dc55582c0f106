#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "src/plan/plan.h"
#include "src/problem/problem_string.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr const char* kGeometries[] = {
    "h4w5c16_k3x3_oc16_p1,1,1,1_g16",
    "n2_h9w33c40_k3x3_oc40_p1,1,1,1_g40",          // vectors overlap
    "n2_h12w31c35_k3x3_oc35_s2x2_p1,1,1,1_g35",    // an odd number of channels
    "h7w18c32_k5x5_oc32_p2,2,2,2_g32",             // the most taps that are unrolled
    "h17w19c16_k7x7_oc16_p3,3,3,3_g16",            // more
    "h20w40c24_k31x31_oc24_p15,15,15,15_g24",      // sums of several parts
    "h19w29c16_k3x3_oc16_s3x3_p1,1,1,1_g16",       // one tap a phase
    "h12w21c32_k1x1_oc32_s3x2_g32",                // gaps
    "h9w40c16_k3x3_oc16_p2,2,2,2_d2x2_g16",        // runs of a dilated phase
    "h30w40c16_k3x4_oc16_s2x3_p3,2,4,1_d3x2_g16",  // strides and dilations
    "h14w15c16_k2x2_oc16_s1x1_p9,9,9,9_d8x8_g16",  // pixels without taps
    "h3w1c48_k3x1_oc48_p1,1,0,0_g48",              // columns of one
    "h3w4c32_k5x9_oc32_p4,4,8,8_g32",              // more taps than pixels
    "n2_h11w14c48_k3x3_oc48_p1,1,1,1_g24",         // groups of two
    "n2_h11w29c72_k3x3_oc72_s2x2_p1,1,1,1_g18",    // of four
    "n3_h10w28c64_k3x3_oc64_p1,1,1,1_g8",          // of eight
    "n2_h9w14c64_k3x3_oc64_p1,1,1,1_g4",           // of sixteen
    "h9w13c40_k5x3_oc40_s1x2_p2,2,1,1_g5",         // vectors overlap
    "h9w30c16_k9x9_oc16_p4,4,4,4_g2",              // long sums
    "h30w40c32_k3x4_oc32_s2x3_p3,2,4,1_d3x2_g8",
};

class SmallGroupsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SmallGroupsTest, MatchesTheDefinition) {
  int served = 0;
  for (const char* geometry : kGeometries) {
    for (const char* layout : {"nhwc", "nchw"}) {
      const std::string problem = std::string(geometry) + "_" + layout + "_" + GetParam();
      std::string reason;
      ASSERT_TRUE(Refusal(Parse(problem), {}, "small_groups", &reason).ok());
      if (!reason.empty()) continue;
      ++served;
      CheckEverywhere(problem, "small_groups", Fill::kIntegers);
      CheckEverywhere(problem, "small_groups", Fill::kReal);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(served, 38);
}

TEST(SmallGroups, AreChosenAndRefused) {
  PlanOptions options;
  options.isa = UsableIsas().front();
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(Plan::Create(Parse("h28w28c64_k3x3_oc64_p1,1,1,1_g64"), options, &plan).ok());
  EXPECT_STREQ(plan->algorithm(), "small_groups");
  const auto refusal = [](const char* problem) {
    std::string reason;
    EXPECT_TRUE(Refusal(Parse(problem), {}, "small_groups", &reason).ok());
    return reason;
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_TRUE(has(refusal("h8w8c16_k3x3_oc16"), "more than one group"));
  EXPECT_TRUE(has(refusal("h8w8c16_k3x3_oc32_g16"), "as many channels"));
  EXPECT_TRUE(has(refusal("h8w8c48_k3x3_oc48_g16"), "groups of 1, 2, 4"));
  EXPECT_TRUE(has(refusal("h8w8c8_k3x3_oc8_g8"), "16 channels at least"));
  EXPECT_TRUE(has(refusal("h8w900c16_k1x300_oc16_g16"), "too many terms"));
  EXPECT_TRUE(has(refusal("h900w8c16_k3x3_oc16_s300x1_g16"), "too many parts"));
}

INSTANTIATE_TEST_SUITE_P(Types, SmallGroupsTest,
                         ::testing::Values("f16", "bf16", "f32", "f64", "i32"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace dgrad::testing
