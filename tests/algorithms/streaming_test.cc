// Results that are written past the caches: the same bits as those written through them, and
// nothing beside them.
#include "src/algorithms/streaming.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "src/plan/plan.h"
#include "src/plan/registry.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr size_t kLine = 64;

// A result that begins on a line of cache, with a poisoned line before and after it.
class AlignedResult {
 public:
  explicit AlignedResult(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)), storage_(bytes_ + 3 * kLine, std::byte{0xA5}) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + kLine + (kLine - address % kLine) % kLine;
  }
  std::byte* data() { return data_; }
  bool GuardsIntact() const {
    for (size_t i = 1; i <= kLine; ++i) {
      if (data_[-static_cast<int64_t>(i)] != std::byte{0xA5}) return false;
      if (data_[bytes_ + i - 1] != std::byte{0xA5}) return false;
    }
    return true;
  }

 private:
  size_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* data_;
};

void Check(const std::string& text, const std::string& algorithm, Isa isa) {
  SCOPED_TRACE(text + " " + algorithm + " " + Name(isa));
  const Problem problem = Parse(text);
  PlanOptions options;
  options.algorithm = algorithm;
  options.isa = isa;
  options.threads = 2;
  std::string reason;
  ASSERT_TRUE(Refusal(problem, options, algorithm, &reason).ok());
  if (!reason.empty()) return;
  std::shared_ptr<const Plan> plan;
  const Status status = Plan::Create(problem, options, &plan);
  ASSERT_TRUE(status.ok()) << status.message();
  constexpr uint64_t kSeed = 5;
  const Tensor unaligned = RunPlan(*plan, kSeed, Fill::kReal);
  ASSERT_FALSE(StreamsResult(problem, unaligned.data(), false));

  Tensor filter(problem.dtype, problem.filter_elements());
  Tensor out_backprop(problem.dtype, problem.out_backprop_elements());
  filter.FillFrom(kSeed, Fill::kReal);
  out_backprop.FillFrom(kSeed + 1, Fill::kReal);
  AlignedResult result(problem.in_backprop_bytes());
  ASSERT_TRUE(StreamsResult(problem, result.data(), false));
  Plan::Run run;
  run.out_backprop = out_backprop.data();
  run.filter = filter.data();
  run.in_backprop = result.data();
  const Status ran = plan->Execute(run, DefaultPool(), {});
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_TRUE(result.GuardsIntact());
  EXPECT_EQ(std::memcmp(result.data(), unaligned.data(), static_cast<size_t>(unaligned.bytes())),
            0);
}

class StreamingTest : public ::testing::TestWithParam<const char*> {};

// Every instruction set, then other shapes on the best one.
TEST_P(StreamingTest, GivesTheSameBits) {
  const std::string type = GetParam();
  const std::string batch = type == "f16" || type == "bf16" ? "n2_" : "n1_";
  for (const Isa isa : UsableIsas()) {
    Check(batch + "h181w95c64_k1x1_oc3_" + type, "direct", isa);
    if (HasFatalFailure()) return;
  }
  // Rows that are no whole lines of cache in planes that are.
  for (const char* geometry : {"h176w164c40_k1x1_oc3_nchw_", "h104w104c101_k2x2_oc3_s2x2_nchw_",
                               "h1056w1000c1_k16x16_oc3_s16x16_nchw_"}) {
    for (const char* algorithm : {"direct", "winograd"}) {
      for (const Isa isa : UsableIsas()) {
        Check(batch + geometry + type, algorithm, isa);
        if (HasFatalFailure()) return;
      }
    }
  }
  for (const char* geometry :
       {"h95w185c64_k3x3_oc64_s2x2_p1,1,1,1_g64_", "h95w185c64_k3x3_oc64_p1,1,1,1_g8_",
        "h96w192c64_k3x3_oc64_p1,1,1,1_g64_nchw_"}) {
    for (const Isa isa : UsableIsas()) {
      Check(batch + geometry + type, "small_groups", isa);
      if (HasFatalFailure()) return;
    }
  }
  // Three vectors a pixel, of folded columns; several partial sums; gaps; groups.
  for (const char* geometry : {"h79w151c96_k2x2_oc6_s2x2_", "h95w181c64_k2x3_oc50_p1,0,1,1_",
                               "h95w183c64_k1x1_oc2_s2x3_", "h59w158c128_k3x3_oc4_p1,1,1,1_g2_"}) {
    for (const char* algorithm : {"direct", "dot", "winograd", "grouped", "small_groups"}) {
      Check(batch + geometry + type, algorithm, UsableIsas()[0]);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StreamingTest,
                         ::testing::Values("f16", "bf16", "f32", "f64", "i32"),
                         [](const auto& type) { return std::string(type.param); });

TEST(StreamsResultTest, WantsLargeResultsOnLines) {
  const auto at = [](uintptr_t address) { return reinterpret_cast<const void*>(address); };
  const Problem large = Parse("n16_h56w56c64_k1x1_oc64");
  EXPECT_TRUE(StreamsResult(large, at(4096)));
  EXPECT_FALSE(StreamsResult(large, at(4096 + 32)));
  EXPECT_FALSE(StreamsResult(Parse("n2_h56w56c64_k1x1_oc64"), at(4096)));
  EXPECT_FALSE(StreamsResult(Parse("n16_h56w56c60_k1x1_oc64"), at(4096)));
  EXPECT_FALSE(StreamsResult(Parse("n16_h56w56c64_k1x1_oc64_g8"), at(4096)));
  EXPECT_TRUE(StreamsResult(Parse("n16_h56w56c64_k1x1_oc64_g8"), at(4096), false));
  EXPECT_TRUE(StreamsResult(Parse("n16_h56w56c60_k1x1_oc64_nchw"), at(4096)));
  EXPECT_FALSE(StreamsResult(Parse("n16_h57w55c64_k1x1_oc64_nchw"), at(4096)));
}

}  // namespace
}  // namespace dgrad::testing
