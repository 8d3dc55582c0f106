// NaN and Inf come only from real products: taps that the border clips, stride gaps and dilation
// holes must not spread them, whatever the algorithm pads with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "src/problem/problem_string.h"
#include "src/reference/reference.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  const char* problem;
  const char* algorithm;
};
constexpr Case kCases[] = {
    {"n2_h9w40c20_k3x3_oc5_p1,1,1,1", "direct"},
    {"h9w11c5_k2x2_oc6_s2x2_pvalid", "direct"},
    {"h9w40c3_k3x3_oc5_p1,1,1,1", "taps"},
    {"h12w40c2_k7x7_oc5_s2x2_p1,1,1,1", "taps"},
    {"h12w40c4_k1x1_oc3_s3x2", "taps"},
    {"n2_h9w43c1_k3x5_oc6_p1,1,2,2", "taps"},  // lines
    {"h9w40c3_k3x3_oc5_p1,1,1,1", "pixels"},
    {"h12w40c2_k4x4_oc5_s2x2_p1,1,1,1", "pixels"},
    {"h12w40c4_k1x1_oc3_s3x2", "pixels"},
    {"h9w12c24_k3x3_oc24_p1,1,1,1_g24", "grouped"},
    {"h12w10c16_k3x3_oc32_s2x2_p2,2,2,2_d2x2_g8", "grouped"},
    {"n2_h9w40c20_k3x3_oc6_p1,1,1,1", "dot"},
    {"h9w11c5_k2x2_oc270_s2x2_pvalid", "dot"},
    {"n2_h9w22c20_k3x3_oc5_p1,1,1,1", "winograd"},
    {"h12w9c18_k4x4_oc40_s2x2_p1,1,1,1", "winograd"},
    {"h14w9c3_k3x3_oc300_p3,3,3,3_d3x3", "winograd"},
    {"h13w12c18_k7x6_oc5_p3,3,2,3", "winograd"},  // pieces of taps
    {"h9w25c3_k3x13_oc20_s1x2_p1,1,6,6", "winograd"},
    {"h3w40c5_k1x11_oc6_p0,0,15,15_d1x3", "winograd"},
    {"h9w17c24_k3x3_oc24_p1,1,1,1_g24", "small_groups"},
    {"h12w10c16_k3x3_oc16_s2x2_p2,2,2,2_d2x2_g8", "small_groups"},
    {"h9w11c40_k3x3_oc40_s1x2_p1,1,1,1_g5", "small_groups"},
};

class SpecialValuesTest : public ::testing::TestWithParam<std::tuple<Case, const char*>> {};

TEST_P(SpecialValuesTest, SpreadAsInTheDefinition) {
  const auto& [which, type] = GetParam();
  for (const char* layout : {"nhwc", "nchw"}) {
    const Problem p = Parse(std::string(which.problem) + "_" + layout + "_" + type);
    for (const Isa isa : UsableIsas()) {
      PlanOptions options;
      options.isa = isa;
      if (which.algorithm == std::string("dot")) {  // the others serve every type and machine
        std::string reason;
        ASSERT_TRUE(Refusal(p, options, which.algorithm, &reason).ok());
        if (!reason.empty()) continue;
      }
      options.algorithm = which.algorithm;
      std::shared_ptr<const Plan> plan;
      ASSERT_TRUE(Plan::Create(p, options, &plan).ok());
      for (uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(ToString(p) + " " + which.algorithm + " " + Name(isa) + " seed " +
                     std::to_string(seed));
        Tensor filter(p.dtype, p.filter_elements());
        Tensor out_backprop(p.dtype, p.out_backprop_elements());
        Tensor wanted(p.dtype, p.in_backprop_elements());
        Tensor got(p.dtype, p.in_backprop_elements());
        filter.FillFrom(seed, Fill::kIntegers);
        out_backprop.FillFrom(seed + 1, Fill::kIntegers);
        got.Poison();
        const double special = seed % 3 == 0 ? kNan : seed % 3 == 1 ? kInf : -kInf;
        Tensor& victim = seed % 2 == 0 ? filter : out_backprop;
        const auto at = Random(seed, 77) % static_cast<uint64_t>(victim.elements());
        victim.Set(static_cast<int64_t>(at), special);
        if (seed > 8) {  // every value of the filter, none of out_backprop
          out_backprop.FillFrom(seed + 1, Fill::kIntegers);
          for (int64_t i = 0; i < filter.elements(); ++i) filter.Set(i, special);
        }
        Reference(p, filter.data(), out_backprop.data(), wanted.data());
        Plan::Run run;
        run.filter = filter.data();
        run.out_backprop = out_backprop.data();
        run.in_backprop = got.data();
        ASSERT_TRUE(plan->Execute(run, DefaultPool(), {}).ok());
        for (int64_t i = 0; i < wanted.elements(); ++i) {
          const double want = wanted.At(i);
          const double have = got.At(i);
          // Sums of small integers; only transforms round.
          const double bound = std::isfinite(want) && BoundOf(which.algorithm) == Bound::kTile
                                   ? 0.02 + std::abs(want) / 100
                                   : 0;
          ASSERT_TRUE(want == have || std::abs(want - have) <= bound ||
                      (std::isnan(want) && std::isnan(have)))
              << "element " << i << " is " << have << ", wanted " << want;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpecialValuesTest,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("f16", "bf16", "f32", "f64")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).algorithm) + "_" +
                                  std::get<1>(test.param) + "_" + std::to_string(test.index);
                         });

// Transforms overflow where sums do not.
TEST(LargeValuesTest, AreComputedByDirectSums) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    const Problem p = Parse(std::string("h12w12c4_k3x3_oc4_p1,1,1,1_") + type);
    Tensor filter(p.dtype, p.filter_elements());
    Tensor out_backprop(p.dtype, p.out_backprop_elements());
    Tensor wanted(p.dtype, p.in_backprop_elements());
    Tensor got(p.dtype, p.in_backprop_elements());
    const double largest = p.dtype == DType::kF64 ? std::numeric_limits<double>::max()
                                                  : std::numeric_limits<float>::max();
    filter.FillFrom(5, Fill::kIntegers);
    for (int64_t i = 0; i < out_backprop.elements(); ++i) {
      out_backprop.Set(i, i % 40 == 0 ? largest / 512 : 1);
    }
    got.Poison();
    Reference(p, filter.data(), out_backprop.data(), wanted.data());
    PlanOptions options;
    options.algorithm = "winograd";
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(p, options, &plan).ok());
    Plan::Run run;
    run.filter = filter.data();
    run.out_backprop = out_backprop.data();
    run.in_backprop = got.data();
    ASSERT_TRUE(plan->Execute(run, DefaultPool(), {}).ok());
    for (int64_t i = 0; i < wanted.elements(); ++i) {
      ASSERT_TRUE(std::isfinite(wanted.At(i)));
      ASSERT_TRUE(std::isfinite(got.At(i))) << type << " element " << i;
      ASSERT_LE(std::abs(wanted.At(i) - got.At(i)), largest / 512 * 1e-2) << type;
    }
  }
}

TEST(SignedZeroTest, SumsBeginAtPlusZero) {
  for (const char* text : {"h4w20c20_k1x1_oc1", "h4w20c2_k1x1_oc1", "h4w20c20_k1x1_oc20_g20",
                           "h12w20c40_k3x3_oc64_p1,1,1,1"}) {
    const Problem p = Parse(text);
    Tensor filter(p.dtype, p.filter_elements());
    Tensor out_backprop(p.dtype, p.out_backprop_elements());
    Tensor got(p.dtype, p.in_backprop_elements());
    for (int64_t i = 0; i < filter.elements(); ++i) filter.Set(i, 1);
    for (int64_t i = 0; i < out_backprop.elements(); ++i) out_backprop.Set(i, -0.0);
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(p, {}, &plan).ok());
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

}  // namespace
}  // namespace dgrad::testing
