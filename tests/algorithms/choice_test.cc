// What the planner picks for the layers of shapes/suite.txt and others: a change of a cost shows
// here.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

struct Expected {
  const char* problem;
  const char* fast;
  const char* strict;
};
// float32, NHWC, on AVX-512 and AVX2 alike.
constexpr Expected kExpected[] = {
    {"n8_h56w56c64_k1x1_oc256", "direct", "direct"},
    {"n8_h56w56c64_k3x3_oc64_p1,1,1,1", "winograd", "direct"},
    {"n8_h28w28c128_k3x3_oc128_p1,1,1,1", "winograd", "direct"},
    {"n8_h14w14c256_k3x3_oc256_p1,1,1,1", "winograd", "direct"},
    {"n8_h7w7c512_k3x3_oc512_p1,1,1,1", "winograd", "direct"},
    {"n8_h56w56c128_k3x3_oc128_s2x2_p1,1,1,1", "direct", "direct"},
    {"n8_h56w56c256_k1x1_oc512_s2x2", "direct", "direct"},
    {"n4_h224w224c3_k7x7_oc64_s2x2_p3,3,3,3", "taps", "taps"},
    {"h224w224c64_k3x3_oc64_p1,1,1,1", "winograd", "direct"},
    {"h28w28c512_k3x3_oc512_p1,1,1,1", "winograd", "direct"},
    {"n16_h16w16c256_k4x4_oc512_s2x2_p1,1,1,1", "winograd", "direct"},
    {"n16_h64w64c64_k4x4_oc128_s2x2_p1,1,1,1", "winograd", "direct"},
    {"n16_h64w64c3_k4x4_oc64_s2x2_p1,1,1,1", "taps", "taps"},
    {"h64w64c256_k2x2_oc512_s2x2", "direct", "direct"},
    {"h256w256c64_k2x2_oc128_s2x2", "direct", "direct"},
    {"h256w256c21_k16x16_oc21_s8x8_p4,4,4,4", "direct", "direct"},
    {"h300w300c1_k9x9_oc56_s3x3_p3,3,3,3", "taps", "taps"},
    {"h33w33c512_k3x3_oc256_p12,12,12,12_d12x12", "winograd", "direct"},
    {"n8_h28w28c256_k3x3_oc256_p1,1,1,1_g32", "small_groups", "small_groups"},
    {"n8_h28w28c192_k3x3_oc192_p1,1,1,1_g192", "small_groups", "small_groups"},
    {"n8_h56w56c144_k3x3_oc144_s2x2_p1,1,1,1_g144", "small_groups", "small_groups"},
    {"h1w512c256_k1x16_oc512_s1x8_p0,0,4,4", "direct", "direct"},
    {"h320w320c64_k2x2_oc64_s2x2", "direct", "direct"},
    {"h640w640c1_k2x2_oc64_s2x2", "taps", "taps"},
    {"h8w8c16_k3x3_oc16_p1,1,1,1", "direct", "direct"},
    // Many taps.
    {"h120w160c64_k7x7_oc64_p3,3,3,3", "winograd", "direct"},
    {"h1w2048c256_k1x11_oc256_p0,0,25,25_d1x5", "winograd", "direct"},
    {"h128w128c32_k7x7_oc3_p3,3,3,3", "direct", "direct"},
    {"h128w128c3_k9x9_oc64_p4,4,4,4", "taps", "taps"},
};

TEST(ChoiceTest, TheSuiteGetsTheExpectedAlgorithms) {
  for (const Isa isa : UsableIsas()) {
    if (isa != Isa::kAvx512 && isa != Isa::kAvx2) continue;
    for (const Expected& expected : kExpected) {
      for (const Accuracy accuracy : {Accuracy::kFast, Accuracy::kStrict}) {
        for (const int threads : {1, 2, 16}) {
          PlanOptions options;
          options.isa = isa;
          options.accuracy = accuracy;
          options.threads = threads;
          std::shared_ptr<const Plan> plan;
          ASSERT_TRUE(Plan::Create(Parse(expected.problem), options, &plan).ok());
          EXPECT_STREQ(plan->algorithm(),
                       accuracy == Accuracy::kFast ? expected.fast : expected.strict)
              << Name(isa) << " " << threads << " threads\n"
              << plan->Explain();
        }
      }
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
