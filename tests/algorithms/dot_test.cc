// Pairs of bfloat16: what direct_test.cc checks of "direct", and what pairs add to it. All is
// skipped on processors whose bfloat16 products are slow or missing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "src/base/cache_size.h"
#include "src/base/isa.h"
#include "src/plan/plan.h"
#include "src/problem/problem_string.h"
#include "src/reference/reference.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr const char* kGeometries[] = {
    "h4w5c2_k3x2_oc4",
    "n2_h8w8c16_k3x3_oc16_p1,1,1,1",
    "n3_h7w7c33_k3x3_oc20_psame",
    "n3_h7w7c33_k3x3_oc21_psame",  // an odd channel
    "h9w8c20_k3x3_oc1_p1,1,1,1",
    "h6w17c40_k1x2_oc3_s1x2",  // with folded columns
    "h10w10c37_k2x2_oc257_s2x2",
    "h6w6c2_k3x3_oc1027_p1,1,1,1",
    "h1w64c40_k1x16_oc24_s1x8_p0,0,4,4",  // folded columns
    "h9w11c5_k2x2_oc6_s2x2_pvalid",       // odd size: the last column is partial
    "h10w10c3_k2x2_oc70_s2x2",            // one tap per phase
    "h10w10c37_k2x2_oc256_s2x2",          // one whole partial sum
    "h10w10c37_k2x2_oc258_s2x2",          // one and a pair
    "h3w5c40_k1x2_oc6000_s1x2",           // more than one pass: staged
    "h32w32c3_k30x30_oc2_p15,15,15,15",   // more steps than a pass has: staged
    "n2_h13w17c21_k4x4_oc22_s2x2_p1,1,1,1",
    "h20w23c4_k7x7_oc10_s2x3_p3,3,3,3",  // unequal phases
    "h12w12c8_k1x1_oc8_s3x2",            // gaps
    "h12w12c8_k1x1_oc770_s3x2",          // gaps, staged; chunks of odd numbers of pairs
    "h12w12c8_k3x3_oc300_p1,1,1,1",
    "h6w6c2_k3x3_oc1026_p1,1,1,1",
    "n2_h5w7c35_k1x1_oc2048",  // pixels that are spread
    "h17w15c6_k3x3_oc6_p4,4,2,2_d4x2",
    "h16w18c6_k3x2_oc8_s2x3_p3,2,1,4_d3x2",
    "h9w9c3_k3x3_oc6_s2x2_p2,2,2,2_d2x2",  // phases without taps
    "h11w10c12_k3x3_oc18_p1,1,1,1_g3",
    "n2_h8w9c6_k3x3_oc12_s2x2_p1,0,0,1_g6",
    "n2_h9w7c96_k3x3_oc256_p1,1,1,1_g2",
    "h5w5c2_k9x9_oc4_p6,6,6,6",  // padding past the filter's reach
    "h3w3c1_k31x31_oc2_p15,15,15,15",
    "n5_h1w1c10_k1x1_oc8",
    "h40w3c17_k5x1_oc2_s4x1_p2,2,0,0",
    "h70w65c50_k3x3_oc4_p1,1,1,1",
    "n9_h5w4c64_k1x1_oc64",
    "h2w130c1_k1x3_oc2_s1x65_pvalid",
};

std::string Reason(const std::string& problem, const PlanOptions& options = {}) {
  std::string reason;
  const Status status = Refusal(Parse(problem), options, "dot", &reason);
  EXPECT_TRUE(status.ok()) << status.message();
  return reason;
}

// Results of 1, 2 and 3 threads: right, and the same bits.
void Check(const std::string& text, Fill fill) {
  const Problem problem = Parse(text);
  const auto seed = static_cast<uint64_t>(text.size() * 2 + 1);
  PlanOptions options;
  options.algorithm = "dot";
  std::unique_ptr<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(text + " threads " + std::to_string(threads));
    options.threads = threads;
    std::shared_ptr<const Plan> plan;
    const Status status = Plan::Create(problem, options, &plan);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NE(plan->Explain().find("AVX512_BF16"), std::string::npos);
    Tensor result = RunPlan(*plan, seed, fill);
    ASSERT_TRUE(MatchesReference(problem, seed, fill, Bound::kSum, result));
    if (first == nullptr) first = std::make_unique<Tensor>(result);
    ASSERT_TRUE(result.SameBits(*first)) << "depends on the number of threads";
  }
}

class DotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = Reason("h4w4c2_k1x1_oc2_bf16");
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(DotTest, IntegersAreExact) {
  for (const char* geometry : kGeometries) {
    for (const char* layout : {"_nhwc_bf16", "_nchw_bf16"}) {
      Check(std::string(geometry) + layout, Fill::kIntegers);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(DotTest, RealsStayWithinTheBound) {
  for (const char* geometry : kGeometries) {
    Check(std::string(geometry) + "_bf16", Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

// Planes beyond what is turned at a time.
TEST_F(DotTest, TurnsLargePlanes) {
  for (const char* geometry : {"h40w41c6_k1x1_oc520_nchw_bf16", "h40w41c6_k1x1_oc519_nchw_bf16",
                               "n3_h40w41c19_k3x3_oc34_p1,1,1,1_nchw_bf16",
                               "h60w41c2_k31x31_oc4_p15,15,15,15_nchw_bf16"}) {
    Check(geometry, Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

TEST_F(DotTest, TasksPackLargeFilters) {
  for (const char* geometry :
       {"h3w4c90_k3x3_oc1280_p1,1,1,1_bf16", "h3w4c90_k3x3_oc1281_p1,1,1,1_bf16",
        "h3w4c120_k3x3_oc2000_p1,1,1,1_g2_bf16", "n2_h6w5c50_k4x4_oc1600_s2x2_p1,1,1,1_bf16"}) {
    Check(geometry, Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

TEST_F(DotTest, SmallWorkspacesGiveTheSameValues) {
  const Problem problem = Parse("h40w50c64_k3x3_oc64_p1,1,1,1_bf16");
  PlanOptions options;
  options.algorithm = "dot";
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(Plan::Create(problem, options, &plan).ok());
  const Tensor wanted = RunPlan(*plan, 1, Fill::kReal);
  for (const int64_t limit : {200000, 400000}) {
    options.workspace_limit = limit;
    ASSERT_TRUE(Plan::Create(problem, options, &plan).ok());
    EXPECT_LE(plan->workspace_bytes(), limit);
    EXPECT_TRUE(RunPlan(*plan, 1, Fill::kReal).SameBits(wanted));
  }
}

// One victim among the pairs, an infinity whose neighbour is zero among them.
TEST_F(DotTest, SpecialValuesSpreadAsInTheDefinition) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const char* geometry :
       {"n2_h9w40c20_k3x3_oc6_p1,1,1,1_bf16", "n2_h9w10c20_k3x3_oc5_p1,1,1,1_bf16",
        "h9w11c5_k2x2_oc6_s2x2_pvalid_bf16", "h12w10c6_k3x3_oc12_s2x2_p2,2,2,2_d2x2_g3_bf16",
        "h6w7c40_k3x3_oc64_p1,1,1,1_bf16"}) {
    const Problem p = Parse(geometry);
    PlanOptions options;
    options.algorithm = "dot";
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(p, options, &plan).ok());
    for (uint64_t seed = 1; seed <= 24; ++seed) {
      SCOPED_TRACE(std::string(geometry) + " seed " + std::to_string(seed));
      Tensor filter(p.dtype, p.filter_elements());
      Tensor out_backprop(p.dtype, p.out_backprop_elements());
      Tensor wanted(p.dtype, p.in_backprop_elements());
      Tensor got(p.dtype, p.in_backprop_elements());
      filter.FillFrom(seed, Fill::kIntegers);
      out_backprop.FillFrom(seed + 1, Fill::kIntegers);
      got.Poison();
      Tensor& victim = seed % 2 == 0 ? filter : out_backprop;
      const auto at =
          static_cast<int64_t>(Random(seed, 77) % static_cast<uint64_t>(victim.elements()));
      victim.Set(at, seed % 3 == 0 ? kNan : seed % 3 == 1 ? kInf : -kInf);
      if (seed > 12) victim.Set(at ^ 1, 0);
      if (seed > 20) {
        for (int64_t i = 0; i < filter.elements(); ++i) filter.Set(i, kInf);
      }
      Reference(p, filter.data(), out_backprop.data(), wanted.data());
      Plan::Run run;
      run.filter = filter.data();
      run.out_backprop = out_backprop.data();
      run.in_backprop = got.data();
      ASSERT_TRUE(plan->Execute(run, DefaultPool(), {}).ok());
      for (int64_t i = 0; i < wanted.elements(); ++i) {
        ASSERT_TRUE(wanted.At(i) == got.At(i) ||
                    (std::isnan(wanted.At(i)) && std::isnan(got.At(i))))
            << "element " << i << " is " << got.At(i) << ", wanted " << wanted.At(i);
      }
    }
  }
}

TEST_F(DotTest, SumsBeginAtPlusZero) {
  for (const char* text : {"h4w20c20_k1x1_oc2_bf16", "h4w20c20_k1x1_oc300_bf16"}) {
    const Problem p = Parse(text);
    Tensor filter(p.dtype, p.filter_elements());
    Tensor out_backprop(p.dtype, p.out_backprop_elements());
    Tensor got(p.dtype, p.in_backprop_elements());
    for (int64_t i = 0; i < filter.elements(); ++i) filter.Set(i, 1);
    for (int64_t i = 0; i < out_backprop.elements(); ++i) out_backprop.Set(i, -0.0);
    PlanOptions options;
    options.algorithm = "dot";
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(p, options, &plan).ok());
    Plan::Run run;
    run.filter = filter.data();
    run.out_backprop = out_backprop.data();
    run.in_backprop = got.data();
    ASSERT_TRUE(plan->Execute(run, DefaultPool(), {}).ok());
    for (int64_t i = 0; i < got.elements(); ++i) {
      ASSERT_EQ(got.At(i), 0);
      ASSERT_FALSE(std::signbit(got.At(i))) << text;
    }
  }
}

TEST_F(DotTest, IsChosenForPlainProducts) {
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(Plan::Create(Parse("h28w28c64_k1x1_oc256_bf16"), {}, &plan).ok());
  EXPECT_STREQ(plan->algorithm(), "dot");
}

TEST_F(DotTest, RefusesWhatItCannotServe) {
  EXPECT_NE(Reason("h4w4c2_k1x1_oc2_f16").find("bfloat16"), std::string::npos);
  EXPECT_EQ(Reason("h4w4c2_k1x1_oc3_bf16"), "");
  EXPECT_NE(Reason("h4w4c2_k1x1_oc6_g2_bf16").find("even"), std::string::npos);
  PlanOptions options;
  options.accuracy = Accuracy::kStrict;
  EXPECT_NE(Reason("h4w4c2_k1x1_oc2_bf16", options).find("strict"), std::string::npos);
  options = {};
  options.isa = Isa::kAvx2;
  EXPECT_NE(Reason("h4w4c2_k1x1_oc2_bf16", options).find("avx512"), std::string::npos);
}

TEST(FastBf16DotTest, ImpliesAvx512) {
  EXPECT_TRUE(!HasFastBf16Dot() || DetectedIsas().front() == Isa::kAvx512);
}

}  // namespace
}  // namespace dgrad::testing
