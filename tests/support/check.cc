#include "tests/support/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "src/kernels/isas.h"
#include "src/problem/problem_string.h"
#include "src/reference/reference.h"

namespace dgrad::testing {

Problem Parse(const std::string& text) {
  Problem problem;
  const Status status = ParseProblem(text, &problem);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return problem;
}

std::vector<Isa> UsableIsas() {
  std::vector<Isa> usable;
  for (const Isa isa : CompiledIsas()) {
    const auto& detected = DetectedIsas();
    if (std::find(detected.begin(), detected.end(), isa) != detected.end()) usable.push_back(isa);
  }
  return usable;
}

Tensor RunPlan(const Plan& plan, uint64_t seed, Fill fill) {
  const Problem& p = plan.problem();
  Tensor filter(p.dtype, p.filter_elements());
  Tensor out_backprop(p.dtype, p.out_backprop_elements());
  Tensor result(p.dtype, p.in_backprop_elements());
  filter.FillFrom(seed, fill);
  out_backprop.FillFrom(seed + 1, fill);
  result.Poison();
  // One byte more than asked for, from an odd address on.
  std::vector<std::byte> packed(static_cast<size_t>(plan.packed_filter_bytes()) + 1,
                                std::byte{0xA5});
  std::vector<std::byte> workspace(static_cast<size_t>(plan.workspace_bytes()) + 2,
                                   std::byte{0xA5});
  Executor& executor = DefaultPool();
  const Status packing = plan.PackFilter(filter.data(), packed.data() + 1, executor, {});
  EXPECT_TRUE(packing.ok()) << packing.message();
  Plan::Run run;
  run.out_backprop = out_backprop.data();
  run.packed_filter = packed.data() + 1;
  run.in_backprop = result.data();
  run.workspace = workspace.data() + 1;
  const Status status = plan.Execute(run, executor, {});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(workspace.back(), std::byte{0xA5}) << "wrote beyond the workspace";
  EXPECT_TRUE(result.GuardsIntact() && filter.GuardsIntact() && out_backprop.GuardsIntact());

  Tensor again(p.dtype, p.in_backprop_elements());
  again.Poison();
  run.packed_filter = nullptr;
  run.filter = filter.data();
  run.in_backprop = again.data();
  run.workspace = nullptr;
  const Status second = plan.Execute(run, executor, {});
  EXPECT_TRUE(second.ok()) << second.message();
  EXPECT_TRUE(again.SameBits(result)) << "an unpacked filter gives other values";
  return result;
}

Bound BoundOf(const std::string& algorithm) {
  return algorithm == "winograd" ? Bound::kTile : Bound::kSum;
}

namespace {

// Each element's becomes the largest of its image and channel.
void SpreadOverImages(const Problem& p, std::vector<double>* scale) {
  const int64_t pixels = p.rows.in * p.columns.in;
  const bool nchw = p.layout == Layout::kNchw;
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t c = 0; c < p.in_channels; ++c) {
      const auto at = [&](int64_t pixel) -> double& {
        const int64_t i = nchw ? (n * p.in_channels + c) * pixels + pixel
                               : (n * pixels + pixel) * p.in_channels + c;
        return (*scale)[static_cast<size_t>(i)];
      };
      double most = 0;
      for (int64_t i = 0; i < pixels; ++i) most = std::max(most, at(i));
      for (int64_t i = 0; i < pixels; ++i) at(i) = most;
    }
  }
}

}  // namespace

::testing::AssertionResult MatchesReference(const Problem& p, uint64_t seed, Fill fill,
                                            Bound measure, const Tensor& result) {
  Tensor filter(p.dtype, p.filter_elements());
  Tensor out_backprop(p.dtype, p.out_backprop_elements());
  filter.FillFrom(seed, fill);
  out_backprop.FillFrom(seed + 1, fill);
  Tensor wanted(p.dtype, p.in_backprop_elements());
  Reference(p, filter.data(), out_backprop.data(), wanted.data());
  const bool tiles = measure == Bound::kTile;
  const bool exact = !tiles && (fill == Fill::kIntegers || p.dtype == DType::kI32);
  std::vector<double> scale;
  if (!exact) {
    scale.resize(static_cast<size_t>(p.in_backprop_elements()));
    ReferenceScale(p, filter.data(), out_backprop.data(), scale.data());
    if (tiles) SpreadOverImages(p, &scale);
  }
  const double unit = p.dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  const double rounding = p.dtype == DType::kF16 ? 0x1p-11 : p.dtype == DType::kBF16 ? 0x1p-8 : 0;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double want = wanted.At(i);
    const double got = result.At(i);
    const double bound = exact ? 0
                               : (tiles ? 24 : 8) * unit * scale[static_cast<size_t>(i)] +
                                     2 * rounding * std::abs(want);
    if (!(std::abs(got - want) <= bound)) {
      return ::testing::AssertionFailure() << ToString(p) << ": element " << i << " is " << got
                                           << ", wanted " << want << " within " << bound;
    }
  }
  return ::testing::AssertionSuccess();
}

void CheckEverywhere(const std::string& text, const std::string& algorithm, Fill fill) {
  Problem problem;
  const Status parsed = ParseProblem(text, &problem);
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const uint64_t seed = std::hash<std::string>()(text) | 1;
  for (const Isa isa : UsableIsas()) {
    PlanOptions options;
    options.isa = isa;
    options.algorithm = algorithm;
    options.accuracy = BoundOf(algorithm) == Bound::kSum ? Accuracy::kStrict : Accuracy::kFast;
    std::vector<Tensor> results;
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(text + " " + algorithm + " " + Name(isa) + " threads " +
                   std::to_string(threads));
      options.threads = threads;
      std::shared_ptr<const Plan> plan;
      const Status status = Plan::Create(problem, options, &plan);
      ASSERT_TRUE(status.ok()) << status.message();
      results.push_back(RunPlan(*plan, seed, fill));
      ASSERT_TRUE(MatchesReference(problem, seed, fill, BoundOf(algorithm), results.back()));
    }
    ASSERT_TRUE(results[0].SameBits(results[1])) << text << " depends on the number of threads";
  }
}

}  // namespace dgrad::testing
