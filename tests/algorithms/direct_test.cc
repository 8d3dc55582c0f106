#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "src/base/cache_size.h"
#include "src/plan/plan.h"
#include "src/problem/problem_string.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr const char* kGeometries[] = {
    "h4w5c2_k3x2_oc3",
    "n2_h8w8c16_k3x3_oc16_p1,1,1,1",
    "n3_h7w7c33_k3x3_oc20_psame",
    "h1w64c40_k1x16_oc24_s1x8_p0,0,4,4",     // folded columns
    "h9w11c5_k2x2_oc6_s2x2_pvalid",          // odd size: the last column is partial
    "h10w10c3_k2x2_oc70_s2x2",               // one tap per phase
    "n2_h13w17c21_k4x4_oc19_s2x2_p1,1,1,1",  // four phases
    "h20w23c4_k7x7_oc9_s2x3_p3,3,3,3",       // unequal phases
    "h12w12c8_k1x1_oc8_s3x2",                // gaps
    "n2_h13w14c130_k2x2_oc3_s4x3_p3,0,2,4",  // of large pixels, beside folded columns
    "h3w601c128_k1x1_oc2_s1x2",              // many of them
    "h5w6c130_k1x1_oc3_s2x2_p2,2,3,1",
    "h12w12c8_k3x3_oc300_p1,1,1,1",  // two chunks of terms
    "h6w6c2_k3x3_oc700_p1,1,1,1",
    "h17w15c6_k3x3_oc7_p4,4,2,2_d4x2",       // dilation
    "h16w18c6_k3x2_oc7_s2x3_p3,2,1,4_d3x2",  // stride and dilation
    "h9w9c3_k3x3_oc5_s2x2_p2,2,2,2_d2x2",    // phases without taps
    "h11w10c12_k3x3_oc18_p1,1,1,1_g3",
    "n2_h8w9c6_k3x3_oc12_s2x2_p1,0,0,1_g6",
    "h5w5c2_k9x9_oc3_p6,6,6,6",  // padding past the filter's reach
    "h3w3c1_k31x31_oc1_p15,15,15,15",
    "n5_h1w1c10_k1x1_oc7",
    "h40w3c17_k5x1_oc2_s4x1_p2,2,0,0",
    "h30w30c1_k9x9_oc5_s3x3_p3,3,3,3",
    "h70w65c50_k3x3_oc3_p1,1,1,1",
    "n9_h5w4c64_k1x1_oc64",
    "h2w130c1_k1x3_oc1_s1x65_pvalid",
};
constexpr const char* kGrouped[] = {
    "n2_h9w8c24_k3x3_oc24_p1,1,1,1_g24",      // depthwise
    "h10w11c19_k3x3_oc38_s2x2_p1,1,1,1_g19",  // multiplier 2, partial vector
    "h7w6c12_k3x2_oc6_p1,1,0,1_g6",
    "n2_h8w9c160_k3x3_oc96_s2x1_psame_g32",  // five channels from three
    "h6w7c35_k2x2_oc1500_g5",                // two chunks of terms
    "h12w9c40_k3x3_oc40_s2x2_p2,2,2,2_d2x2_g40",
    "h2w1c4_k1x1_oc8200_g2",  // more channels than are converted at a time
    "h2w3c8202_k1x1_oc4_g2",
};
constexpr const char* kLayouts[] = {"nhwc", "nchw"};

// Some number of threads leads to a plan that says so.
void ExpectExplained(const std::string& problem, const std::string& words) {
  std::string text;
  for (const int threads : {1, 2, 5}) {
    PlanOptions options;
    options.algorithm = "direct";
    options.threads = threads;
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(Parse(problem), options, &plan).ok());
    text = plan->Explain();
    if (text.find(words) != std::string::npos) return;
  }
  ADD_FAILURE() << problem << " has no plan with \"" << words << "\":\n" << text;
}

class DirectTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DirectTest, IntegersAreExact) {
  for (const char* geometry : kGeometries) {
    for (const char* layout : kLayouts) {
      CheckEverywhere(std::string(geometry) + "_" + layout + "_" + GetParam(), "direct",
                      Fill::kIntegers);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(DirectTest, RealsStayWithinTheBound) {
  for (const char* geometry : kGeometries) {
    CheckEverywhere(std::string(geometry) + "_nhwc_" + GetParam(), "direct", Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

TEST_P(DirectTest, GroupsAsLanes) {
  for (const char* geometry : kGrouped) {
    for (const char* layout : kLayouts) {
      const std::string problem = std::string(geometry) + "_" + layout + "_" + GetParam();
      CheckEverywhere(problem, "grouped", Fill::kIntegers);
      CheckEverywhere(problem, "grouped", Fill::kReal);
      CheckEverywhere(problem, "direct", Fill::kReal);
      if (HasFatalFailure()) return;
    }
  }
}

// Filters beyond the second cache, few pixels: tasks pack what they need of an unpacked filter.
TEST_P(DirectTest, TasksPackLargeFilters) {
  for (const char* geometry : {
           "h3w4c93_k3x3_oc640_p1,1,1,1_nhwc_", "n2_h6w5c50_k4x4_oc800_s2x2_p1,1,1,1_nchw_",
           "h3w4c120_k3x3_oc1000_p1,1,1,1_g2_nhwc_",
           "h1w15c100_k1x8_oc800_s1x8_nhwc_",  // folded columns
       }) {
    const std::string problem = std::string(geometry) + GetParam();
    if (GetCacheSizes().l2 <= int64_t{2} << 20) ExpectExplained(problem, "packed by the tasks");
    CheckEverywhere(problem, "direct", Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

// Who converts out_backprop: tasks for themselves, or all of them bands for each other.
TEST_P(DirectTest, ConvertsByTaskOrByBand) {
  const std::string type = GetParam();
  for (const auto& [geometry, words] :
       {std::pair("n3_h40w41c19_k3x3_oc18_p1,1,1,1_nchw_", "converted task by task"),
        std::pair("h60w41c2_k31x31_oc3_p15,15,15,15_nchw_", "converted in bands")}) {
    ExpectExplained(geometry + type, words);
    CheckEverywhere(geometry + type, "direct", Fill::kIntegers);
    if (HasFatalFailure()) return;
  }
}

// Pixels of whole multiples of 4 KiB are spread in scratch.
TEST_P(DirectTest, SpreadsPixelsThatCollide) {
  for (const char* geometry : {"n2_h5w7c35_k1x1_oc1024_", "h7w9c20_k2x2_oc2048_s2x2_",
                               "n2_h5w5c18_k3x3_oc2048_p1,1,1,1_g2_"}) {
    for (const char* layout : kLayouts) {
      const std::string problem = std::string(geometry) + layout + "_" + GetParam();
      ExpectExplained(problem, "spread");
      CheckEverywhere(problem, "direct", Fill::kIntegers);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DirectTest, ::testing::Values("f16", "bf16", "f32", "f64", "i32"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace dgrad::testing
