#include <gtest/gtest.h>

#include <string>

#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr const char* kGeometries[] = {
    "h4w5c2_k3x2_oc3",
    "n2_h30w33c3_k7x7_oc20_s2x2_p3,3,3,3",
    "h30w30c1_k9x9_oc5_s3x3_p4,4,4,4",
    "n3_h16w18c3_k4x4_oc33_s2x2_p1,1,1,1",
    "h20w300c1_k2x2_oc17_s2x2",
    "h9w11c4_k3x3_oc16_psame",
    "h29w19c5_k3x3_oc40_p2,2,1,1_d2x1",
    "h12w40c8_k1x1_oc8_s3x2",  // gaps
    "h40w61c2_k3x5_oc300_s2x3_p1,0,2,1",
    "h21w17c7_k5x2_oc3_s2x5_p4,4,6,6_d3x1",  // rows without taps; borders beyond all taps
    "h13w47c1_k5x5_oc6_p2,2,2,2",            // lines
    "n2_h23w34c1_k7x9_oc300_s3x1_p1,0,8,0_d2x1",
    "n2_h8w16c2_k3x3_oc65_s2x1_p1,1,1,1",
    "n2_h21w45c2_k1x2_oc40_s1x2",  // dots: at most 4 columns
    "h9w33c3_k1x1_oc70",
    "h10w7c1_k4x1_oc600",
    "h3w600c1_k1x3_oc2_p0,0,1,1",
    "h2w3c1_k5x7_oc9_p4,4,6,6",  // taps reach further than the image
    "n2_h1w700c1_k1x64_oc1_s1x16_p0,0,24,24",
    "h5w9000c1_k3x3_oc2_p1,1,1,1",  // blocks of columns
};

class TapsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TapsTest, MatchesTheDefinition) {
  for (const char* geometry : kGeometries) {
    for (const char* layout : {"nhwc", "nchw"}) {
      const std::string problem = std::string(geometry) + "_" + layout + "_" + GetParam();
      CheckEverywhere(problem, "taps", Fill::kIntegers);
      CheckEverywhere(problem, "taps", Fill::kReal);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TapsPlanTest, SizesBeyondAllMemory) {
  for (const char* text : {"h8589934592w8192c1_k2x4096_oc1_d4294967296x1",
                           "h1w288230376151711744c1_k1x3_oc1", "h1w3c1_k1x3_oc72057594037927936"}) {
    std::string reason;
    PlanOptions options;
    ASSERT_TRUE(Refusal(Parse(text), options, "taps", &reason).ok());
    EXPECT_NE(reason.find("too long"), std::string::npos) << text << ": " << reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TapsTest, ::testing::Values("f16", "bf16", "f32", "f64", "i32"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace dgrad::testing
