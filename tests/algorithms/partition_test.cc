// How evenly the plans' tasks spread over 1 to 128 threads, simulated: tasks cost their pixels
// times taps times channels and are claimed one by one in rising order by whoever is free, as
// RunTasks does. Nothing is computed, so that machines larger than this one can be looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/pixels/pixels_plan.h"
#include "src/algorithms/small_groups/small_groups_plan.h"
#include "src/algorithms/winograd/winograd_plan.h"
#include "src/base/integer.h"
#include "src/plan/registry.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr int kMostThreads = 128;
constexpr double kEnoughWork = 1e6;  // multiply-adds of a thread, some 20 us
constexpr int kFewThreads = 2;
constexpr double kBalanced = 1.1;  // largest share over the mean

// Pairs of an index and a tap in [begin, end) of in_backprop.
double Landings(const Axis& axis, const std::vector<Phase>& phases, int64_t begin, int64_t end) {
  double sum = 0;
  for (const Phase& phase : phases) {
    const IndexRange range = PhaseRange(phase, axis.stride, begin, end);
    for (int64_t j = range.begin; j < range.end;) {
      const Segment segment = SegmentAt(phase, axis.out, j, range.end);
      sum += static_cast<double>((segment.end - segment.begin) *
                                 std::max<int64_t>(0, segment.last_tap - segment.first_tap));
      j = segment.end;
    }
  }
  return sum;
}

// The landings of each of `blocks` blocks whose borders are multiples of unit.
std::vector<double> BlockLandings(const Axis& axis, const std::vector<Phase>& phases, int64_t unit,
                                  int64_t blocks) {
  std::vector<double> landings;
  const int64_t units = CeilDivide(axis.in, unit);
  for (int64_t i = 0; i < std::min(blocks, units); ++i) {
    landings.push_back(Landings(axis, phases, PartBegin(units, blocks, i) * unit,
                                std::min(axis.in, PartBegin(units, blocks, i + 1) * unit)));
  }
  return landings;
}

std::vector<double> EqualParts(int64_t items, int64_t parts) {
  std::vector<double> sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(
        static_cast<double>(PartBegin(items, parts, i + 1) - PartBegin(items, parts, i)));
  }
  return sizes;
}

struct Tasks {
  int slots = 0;
  std::vector<double> costs;  // in the order in which they are claimed; empty: no model of the plan
};

// Every combination, the last factor fastest.
std::vector<double> Products(const std::vector<std::vector<double>>& factors) {
  std::vector<double> costs = {1};
  for (const std::vector<double>& factor : factors) {
    std::vector<double> next;
    for (const double cost : costs) {
      for (const double f : factor) next.push_back(cost * f);
    }
    costs = std::move(next);
  }
  return costs;
}

Tasks TasksOf(const direct::DirectPlan& plan) {
  const Problem& p = plan.problem;
  std::vector<Phase> columns;
  EXPECT_TRUE(SplitAxis(p.columns, &columns).ok());
  const int64_t units = plan.channel_groups * BlockCount(plan.column_groups[0].vectors);
  return {plan.slots,
          Products({EqualParts(p.batch, plan.image_blocks),
                    BlockLandings(p.rows, plan.row_phases, plan.row_unit, plan.row_blocks),
                    BlockLandings(p.columns, columns, plan.column_unit, plan.column_blocks),
                    EqualParts(units, plan.channel_blocks)})};
}

Tasks TasksOf(const pixels::PixelsPlan& plan) {
  const Problem& p = plan.problem;
  return {plan.slots,
          Products({EqualParts(p.batch, p.batch),
                    BlockLandings(p.rows, plan.row_phases, plan.row_unit, plan.row_blocks),
                    BlockLandings(p.columns, plan.column_phases, plan.column_unit,
                                  plan.column_blocks)})};
}

// Tiles as if they had one size.
Tasks TasksOf(const winograd::WinogradPlan& plan) {
  return {plan.slots, Products({EqualParts(plan.tiles, plan.tile_blocks),
                                EqualParts(BlockCount(plan.vectors), plan.channel_parts)})};
}

Tasks TasksOf(const AlgorithmPlan& plan) {
  if (const auto* direct = dynamic_cast<const direct::DirectPlan*>(&plan)) return TasksOf(*direct);
  if (const auto* pixels = dynamic_cast<const pixels::PixelsPlan*>(&plan)) return TasksOf(*pixels);
  if (const auto* tiles = dynamic_cast<const winograd::WinogradPlan*>(&plan)) {
    return TasksOf(*tiles);
  }
  return {};
}

// The largest share of a thread over the mean of all `threads`, idle ones included.
double Imbalance(const Tasks& tasks, int threads) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < tasks.slots; ++i) free_at.push(0);
  double total = 0;
  double end = 0;
  for (const double cost : tasks.costs) {
    const double finished = free_at.top() + cost;
    free_at.pop();
    free_at.push(finished);
    end = std::max(end, finished);
    total += cost;
  }
  return end * threads / total;
}

struct Balance {
  int thread_counts = 0;  // with enough work
  int balanced = 0;
  int all_balanced_to = 0;  // threads up to which every count is balanced
  double worst = 0;
  int worst_threads = 0;
  size_t worst_tasks = 0;
};

// Over all thread counts that have enough work.
Balance BalanceOf(const Problem& problem, const Algorithm& algorithm) {
  Balance balance;
  for (int threads = 1; threads <= kMostThreads; ++threads) {
    if (problem.multiply_adds() / threads < kEnoughWork) break;
    PlanContext context;
    context.isa = UsableIsas()[0];
    context.threads = threads;
    context.filter_packed = true;
    context.workspace_limit = int64_t{192} << 20;
    Choice choice;
    EXPECT_TRUE(Choose(problem, context, algorithm.name, &choice).ok());
    const Tasks tasks = TasksOf(*choice.plan);
    if (tasks.costs.empty()) break;
    const double imbalance = Imbalance(tasks, threads);
    ++balance.thread_counts;
    balance.balanced += imbalance <= kBalanced ? 1 : 0;
    if (balance.balanced == threads) balance.all_balanced_to = threads;
    if (imbalance > balance.worst) {
      balance.worst = imbalance;
      balance.worst_threads = threads;
      balance.worst_tasks = tasks.costs.size();
    }
  }
  return balance;
}

// Filters as large as the image leave no rows to cut, and no vector of channels is too few.
TEST(PartitionTest, SpreadsLargeDepthwiseFilters) {
  for (const char* text :
       {"h56w56c128_k31x31_oc128_p15,15,15,15_g128", "h56w56c16_k31x31_oc16_p15,15,15,15_g16",
        "h14w14c48_k13x13_oc48_p6,6,6,6_g48"}) {
    PlanContext context;
    context.isa = UsableIsas()[0];
    context.threads = 4;
    context.filter_packed = true;
    context.workspace_limit = int64_t{192} << 20;
    Choice choice;
    ASSERT_TRUE(Choose(Parse(text), context, "small_groups", &choice).ok());
    const auto* plan = dynamic_cast<const small_groups::SmallGroupsPlan*>(choice.plan.get());
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->slots, 4) << text;
    EXPECT_GE(plan->row_blocks * plan->channel_blocks, 8) << text;
  }
}

TEST(PartitionTest, SpreadsTheSuiteOverManyThreads) {
  std::ifstream file(std::string(DGRAD_SOURCE_DIR) + "/shapes/suite.txt");
  ASSERT_TRUE(file);
  std::printf("%-44s %-9s %s\n", "problem", "algorithm",
              "counts of threads within 1.1, all up to, largest share over mean (threads, tasks)");
  int counts = 0;
  int balanced = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find_first_of(" #"));
    if (text.empty()) continue;
    const Problem problem = Parse(text);
    PlanContext context;
    context.isa = UsableIsas()[0];
    context.filter_packed = true;
    context.workspace_limit = int64_t{192} << 20;
    Choice choice;
    ASSERT_TRUE(Choose(problem, context, "", &choice).ok());
    const Balance balance = BalanceOf(problem, *choice.algorithm);
    std::printf("%-44s %-9s %3d of %3d, %3d, %5.2f (%d, %zu)\n", text.c_str(),
                choice.algorithm->name, balance.balanced, balance.thread_counts,
                balance.all_balanced_to, balance.worst, balance.worst_threads, balance.worst_tasks);
    counts += balance.thread_counts;
    balanced += balance.balanced;
    // Today's state, not the goal, which is every count of threads.
    EXPECT_GE(balance.all_balanced_to, std::min(kFewThreads, balance.thread_counts)) << text;
  }
  std::printf("within 1.1: %d of %d\n", balanced, counts);
}

}  // namespace
}  // namespace dgrad::testing
