#include "src/plan/plan.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <chrono>
#include <string>
#include <vector>

#include "src/problem/problem_string.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

std::shared_ptr<const Plan> MakePlan(const std::string& problem, const PlanOptions& options = {}) {
  std::shared_ptr<const Plan> plan;
  const Status status = Plan::Create(Parse(problem), options, &plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

TEST(PlanTest, RemembersPlansUntilTrimmed) {
  const auto first = MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1");
  EXPECT_EQ(MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1"), first);
  EXPECT_NE(MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1_f64"), first);
  Trim();
  EXPECT_NE(MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1"), first);
}

TEST(PlanTest, ForgetsTheOldestPlans) {
  const auto first = MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1");
  for (int width = 4; width < 300; ++width) {
    MakePlan("h4w" + std::to_string(width) + "c1_k1x1_oc1");
  }
  EXPECT_NE(MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1"), first);
}

TEST(PlanTest, UnknownAlgorithmIsAnErrorThatListsTheNames) {
  PlanOptions options;
  options.algorithm = "fastest";
  std::shared_ptr<const Plan> plan;
  const Status status = Plan::Create(Parse("h4w4c1_k1x1_oc1"), options, &plan);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (int i = 0; i < AlgorithmCount(); ++i) {
    EXPECT_NE(status.message().find(AlgorithmName(i)), std::string::npos) << status.message();
  }
  EXPECT_EQ(AlgorithmName(-1), nullptr);
  EXPECT_EQ(AlgorithmName(AlgorithmCount()), nullptr);
}

TEST(PlanTest, RefusalSaysWhy) {
  std::string reason;
  ASSERT_TRUE(Refusal(Parse("h4w4c1_k1x1_oc1"), {}, "grouped", &reason).ok());
  EXPECT_NE(reason.find("group"), std::string::npos);
  ASSERT_TRUE(Refusal(Parse("h4w4c1_k1x1_oc1"), {}, "direct", &reason).ok());
  EXPECT_EQ(reason, "");
  PlanOptions options;
  options.algorithm = "grouped";
  std::shared_ptr<const Plan> plan;
  const Status status = Plan::Create(Parse("h4w4c1_k1x1_oc1"), options, &plan);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST(PlanTest, KeepsTheWorkspaceLimit) {
  const char* problem = "n4_h200w200c64_k3x3_oc64_p1,1,1,1_nchw_f16";
  PlanOptions options;
  options.workspace_limit = 8 << 20;
  options.threads = 2;
  const auto plan = MakePlan(problem, options);
  EXPECT_LE(plan->workspace_bytes(), 8 << 20);
  options.workspace_limit = plan->workspace_bytes();  // exactly what it needs
  EXPECT_LE(MakePlan(problem, options)->workspace_bytes(), options.workspace_limit);
  EXPECT_GT(plan->workspace_bytes(), 0);
  // A small workspace means smaller tasks and fewer threads, not other values.
  const struct {
    const char* problem;
    const char* algorithm;
    int64_t least;
  } kSmall[] = {{"h40w50c64_k3x3_oc32_p1,1,1,1_nchw_f16", "direct", 200000},
                {"h40w50c64_k3x3_oc32_p1,1,1,1_nchw_f16", "winograd", 700000},
                {"h90w90c3_k5x5_oc16_psame", "pixels", 200000}};
  for (const auto& [small, algorithm, least] : kSmall) {
    options.threads = 5;
    options.workspace_limit = 0;
    options.algorithm = algorithm;
    const Tensor wanted = RunPlan(*MakePlan(small, options), 1, Fill::kReal);
    for (const int64_t limit : {least, 2 * least, 5 * least}) {
      options.workspace_limit = limit;
      const auto limited = MakePlan(small, options);
      EXPECT_LE(limited->workspace_bytes(), limit);
      EXPECT_TRUE(RunPlan(*limited, 1, Fill::kReal).SameBits(wanted));
    }
  }
  options.algorithm.clear();
  options.workspace_limit = 1000;
  std::shared_ptr<const Plan> none;
  const Status status = Plan::Create(Parse(problem), options, &none);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("1000"), std::string::npos) << status.message();
}

TEST(PlanTest, PackedFiltersBelongToGeometryAlgorithmAndInstructionSet) {
  PlanOptions one, two;
  one.threads = 1;
  two.threads = 2;
  const char* problem = "h8w8c16_k3x3_oc16_p1,1,1,1";
  EXPECT_TRUE(MakePlan(problem, one)->SharesPackedFilter(*MakePlan(problem, two)));
  EXPECT_FALSE(MakePlan(problem)->SharesPackedFilter(*MakePlan("h8w8c16_k3x3_oc16")));
  two.isa = UsableIsas().back();
  // Unless DGRAD_ISA caps both alike.
  if (MakePlan(problem, one)->isa() != MakePlan(problem, two)->isa()) {
    EXPECT_FALSE(MakePlan(problem, one)->SharesPackedFilter(*MakePlan(problem, two)));
  }
}

TEST(PlanTest, EmptyTensors) {
  for (const char* problem :
       {"n0_h4w4c2_k3x3_oc2", "h0w4c2_k1x1_oc2", "h2w4c2_k3x3_oc0_p1,1,1,1", "h4w4c0_k2x2_oc3",
        "h2w2c2_k4x4_oc2_s3x3", "h4w4c3_k3x3_oc0_g3_nchw_f16"}) {
    SCOPED_TRACE(problem);
    const Problem p = Parse(problem);
    for (int i = 0; i < AlgorithmCount(); ++i) {
      std::string reason;
      ASSERT_TRUE(Refusal(p, {}, AlgorithmName(i), &reason).ok());
      if (!reason.empty()) continue;
      PlanOptions options;
      options.algorithm = AlgorithmName(i);
      const auto plan = MakePlan(problem, options);
      const Tensor result = RunPlan(*plan, 1, Fill::kReal);
      for (int64_t e = 0; e < result.elements(); ++e) ASSERT_EQ(result.At(e), 0);
    }
  }
}

// Legal problems whose sizes once misled the blocking.
TEST(PlanTest, OddProblems) {
  struct Odd {
    const char* problem;
    int threads;
    int64_t workspace_limit;
  };
  for (const Odd& odd : {
           // No column tap lands; many groups, a small workspace.
           Odd{"n2_h11w15c117_k3x6_oc234_s3x923937_p18,0,19,19_g39_nchw_bf16", 7, 150000},
           // No filter rows, and a dilation beyond all sizes.
           Odd{"h4w4c8_k0x1_oc64_pvalid_d200000x1_f16", 2, 0},
           Odd{"h4w4c8_k0x1_oc64_pvalid_d2x1_nchw", 2, 0},
       }) {
    SCOPED_TRACE(odd.problem);
    for (const char* algorithm : {"", "direct"}) {
      PlanOptions options;
      options.threads = odd.threads;
      options.workspace_limit = odd.workspace_limit;
      options.algorithm = algorithm;
      const auto plan = MakePlan(odd.problem, options);
      const Tensor result = RunPlan(*plan, 1, Fill::kIntegers);
      EXPECT_TRUE(MatchesReference(plan->problem(), 1, Fill::kIntegers, BoundOf(plan->algorithm()),
                                   result));
    }
  }
}

// Planning never takes time or memory for sizes that no tensor has.
TEST(PlanTest, HugeProblemsAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  for (const char* problem : {
           "h4w4c1_k1099511627776x1_oc0_s1x2199023255552_psame",
           "n0_h1099511627776w1c1_k1099511627776x0_oc1_psame",
           "h1099511627776w1c1_k1099511627776x1_oc1_psame",
           "h1099511627776w1c1_k1099511627776x1_oc1_s1099511627776x1_psame",
           "n0_h1w1c134217728_k0x1_oc67108864_g2_nchw",
           "h1w1c134217728_k1x1_oc134217728_g134217728",
       }) {
    SCOPED_TRACE(problem);
    Problem parsed;
    const Status status = ParseProblem(problem, &parsed);
    if (!status.ok()) continue;  // its error is the answer
    std::shared_ptr<const Plan> plan;
    const Code code = Plan::Create(parsed, {}, &plan).code();
    EXPECT_TRUE(code == Code::kOk || code == Code::kOutOfMemory);
  }
  // Minutes or forever when it goes wrong.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(PlanTest, CallersFloatingPointStateIsNeitherUsedNorTouched) {
  for (const char* problem : {"h9w9c17_k3x3_oc16", "h9w9c3_k3x3_oc16", "h9w9c6_k3x3_oc6_g6",
                              "h9w9c17_k3x3_oc16_nchw_f16", "h9w9c3_k3x3_oc16_bf16"}) {
    const auto plan = MakePlan(problem);
    const Problem& p = plan->problem();
    const Tensor wanted = RunPlan(*plan, 1, Fill::kReal);
    Tensor filter(p.dtype, p.filter_elements());
    Tensor out_backprop(p.dtype, p.out_backprop_elements());
    Tensor result(p.dtype, p.in_backprop_elements());
    filter.FillFrom(1, Fill::kReal);
    out_backprop.FillFrom(2, Fill::kReal);
    Plan::Run run;
    run.out_backprop = out_backprop.data();
    run.filter = filter.data();
    run.in_backprop = result.data();
    std::vector<std::byte> packed(static_cast<size_t>(plan->packed_filter_bytes()));
    std::fenv_t before;
    std::fegetenv(&before);
    std::fesetround(FE_UPWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    const Status packing = plan->PackFilter(filter.data(), packed.data(), DefaultPool(), {});
    const Status running = plan->Execute(run, DefaultPool(), {});
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    const int rounding = std::fegetround();
    std::fesetenv(&before);
    EXPECT_TRUE(packing.ok() && running.ok());
    EXPECT_EQ(raised, 0) << problem;
    EXPECT_EQ(rounding, FE_UPWARD) << problem;
    EXPECT_TRUE(result.SameBits(wanted)) << problem;
  }
}

TEST(PlanTest, CancelledRunsSaySo) {
  const auto plan = MakePlan("n2_h64w64c64_k3x3_oc64_p1,1,1,1");
  const Problem& p = plan->problem();
  Tensor filter(p.dtype, p.filter_elements());
  Tensor out_backprop(p.dtype, p.out_backprop_elements());
  Tensor result(p.dtype, p.in_backprop_elements());
  filter.FillFrom(1, Fill::kReal);
  out_backprop.FillFrom(2, Fill::kReal);
  Plan::Run run;
  run.filter = filter.data();
  run.out_backprop = out_backprop.data();
  run.in_backprop = result.data();
  const int32_t cancel = 1;
  Control control;
  control.cancel = &cancel;
  EXPECT_EQ(plan->Execute(run, DefaultPool(), control).code(), Code::kCancelled);
  EXPECT_TRUE(plan->Execute(run, DefaultPool(), {}).ok());
}

// Packing runs in tasks, which have their own floating-point state and see the cancel flag.
TEST(PlanTest, PackingCanBeCancelled) {
  for (int i = 0; i < AlgorithmCount(); ++i) {
    for (const char* text : {"h8w40c3_k3x3_oc16_p1,1,1,1_bf16", "h8w8c32_k3x3_oc32_g8_bf16"}) {
      const Problem problem = Parse(text);
      PlanOptions options;
      options.algorithm = AlgorithmName(i);
      std::string reason;
      ASSERT_TRUE(Refusal(problem, options, options.algorithm, &reason).ok());
      if (!reason.empty()) continue;
      SCOPED_TRACE(options.algorithm + " " + text);
      const auto plan = MakePlan(text, options);
      std::vector<std::byte> filter(static_cast<size_t>(problem.filter_bytes()));
      std::vector<std::byte> packed(static_cast<size_t>(plan->packed_filter_bytes()));
      const int32_t cancel = 1;
      Control control;
      control.cancel = &cancel;
      EXPECT_EQ(plan->PackFilter(filter.data(), packed.data(), DefaultPool(), control).code(),
                Code::kCancelled);
      EXPECT_TRUE(plan->PackFilter(filter.data(), packed.data(), DefaultPool(), {}).ok());
    }
  }
}

TEST(PlanTest, ExplainNamesTheChoiceAndTheOthers) {
  PlanOptions options;
  options.accuracy = Accuracy::kStrict;
  const std::string strict = MakePlan("h8w8c16_k3x3_oc16_p1,1,1,1", options)->Explain();
  for (const char* word : {"h8w8c16", "algorithm: direct", "not grouped", "not winograd: accuracy",
                           "workspace", "tasks", "tiles"}) {
    EXPECT_NE(strict.find(word), std::string::npos) << strict;
  }
  const std::string fast = MakePlan("h28w28c64_k3x3_oc64_p1,1,1,1")->Explain();
  for (const char* word : {"algorithm: winograd", "not direct: predicted", "F(4,3)"}) {
    EXPECT_NE(fast.find(word), std::string::npos) << fast;
  }
}

}  // namespace
}  // namespace dgrad::testing
