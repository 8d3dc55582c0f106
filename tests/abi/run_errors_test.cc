// What dgrad_run, the one-shot call, dgrad_packed_filter_create and dgrad_reference refuse.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

constexpr std::uint64_t kIn = BaseArguments::kInBackpropBytes;
constexpr std::uint64_t kFilter = BaseArguments::kFilterBytes;
constexpr std::uint64_t kOut = BaseArguments::kOutBackpropBytes;

std::int32_t SerialFor(void*, std::int64_t count, dgrad_task task, void* context) {
  for (std::int64_t i = 0; i < count; ++i) task(context, i);
  return 0;
}

// All tensors lie in one block, so that tests can let them touch and overlap.
class RunErrors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(dgrad_problem_create(&base_.c, &problem_), DGRAD_OK) << dgrad_last_error();
    ASSERT_EQ(dgrad_plan_create(problem_, nullptr, &plan_), DGRAD_OK) << dgrad_last_error();
    dgrad_plan_info info = {};
    info.struct_size = sizeof(info);
    ASSERT_EQ(dgrad_plan_get_info(plan_, &info), DGRAD_OK) << dgrad_last_error();
    workspace_bytes_ = info.workspace_bytes;
    packed_bytes_ = info.packed_filter_bytes;
    memory_.resize(4096 + workspace_bytes_ + packed_bytes_);
    run_.struct_size = sizeof(run_);
    run_.filter = At(0);
    run_.filter_bytes = kFilter;
    run_.out_backprop = At(kFilter);
    run_.out_backprop_bytes = kOut;
    run_.in_backprop = At(kFilter + kOut);
    run_.in_backprop_bytes = kIn;
    free_ = kFilter + kOut + kIn;
  }
  void TearDown() override {
    dgrad_packed_filter_destroy(packed_);
    dgrad_plan_destroy(plan_);
    dgrad_problem_destroy(problem_);
  }

  char* At(std::uint64_t offset) { return reinterpret_cast<char*>(memory_.data()) + offset; }

  // Both ways to run must give the same status and text.
  dgrad_status Run() {
    const dgrad_status once = dgrad_conv2d_backprop_input(&base_.c, nullptr, &run_);
    const std::string text = once == DGRAD_OK ? "" : dgrad_last_error();
    const dgrad_status planned = dgrad_run(plan_, &run_);
    EXPECT_EQ(once, planned);
    if (planned != DGRAD_OK) {
      EXPECT_EQ(text, dgrad_last_error());
    }
    return planned;
  }

  void Pack() {
    ASSERT_EQ(dgrad_packed_filter_create(plan_, At(0), kFilter, nullptr, 0, &packed_), DGRAD_OK)
        << dgrad_last_error();
  }

  BaseArguments base_;
  dgrad_problem* problem_ = nullptr;
  dgrad_plan* plan_ = nullptr;
  dgrad_packed_filter* packed_ = nullptr;
  std::uint64_t workspace_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t free_ = 0;      // where unused memory begins
  std::vector<double> memory_;  // more than the bytes needed
  dgrad_run_arguments run_ = {};
};

TEST_F(RunErrors, TheBaseCallIsLegal) { EXPECT_STATUS(Run(), DGRAD_OK); }

TEST_F(RunErrors, NullTensors) {
  dgrad_run_arguments before = run_;
  run_.out_backprop = nullptr;
  EXPECT_INVALID(Run(), "out_backprop is null", "96");
  run_.out_backprop_bytes = 0;
  EXPECT_INVALID(Run(), "out_backprop is null", "96");
  run_ = before;
  run_.in_backprop = nullptr;
  EXPECT_INVALID(Run(), "in_backprop is null", "160");
  run_ = before;
  run_.filter = nullptr;
  EXPECT_INVALID(Run(), "filter is null", "144");
  run_.filter_bytes = 0;
  EXPECT_INVALID(Run(), "filter and packed_filter are both null");
}

TEST_F(RunErrors, ShortTensors) {
  dgrad_run_arguments before = run_;
  run_.out_backprop_bytes = kOut - 1;
  EXPECT_INVALID(Run(), "out_backprop_bytes is 95", "96");
  run_ = before;
  run_.filter_bytes = 0;
  EXPECT_INVALID(Run(), "filter_bytes is 0", "144");
  run_ = before;
  run_.in_backprop_bytes = kIn - 4;
  EXPECT_INVALID(Run(), "in_backprop_bytes is 156", "160");
  run_.in_backprop_bytes = kIn + 1000;  // longer is fine
  EXPECT_STATUS(Run(), DGRAD_OK);
}

TEST_F(RunErrors, MisalignedTensors) {
  for (const std::uint64_t excess : {1, 2, 3}) {
    dgrad_run_arguments before = run_;
    run_.out_backprop = At(free_ + excess);
    EXPECT_INVALID(Run(), "out_backprop lies " + std::to_string(excess), "multiple of 4");
    run_ = before;
    run_.filter = At(free_ + excess);
    EXPECT_INVALID(Run(), "filter lies " + std::to_string(excess));
    run_ = before;
    run_.in_backprop = At(free_ + excess);
    EXPECT_INVALID(Run(), "in_backprop lies " + std::to_string(excess));
    run_ = before;
  }
  run_.in_backprop = At(free_ + 4);  // the alignment of an element is enough
  EXPECT_STATUS(Run(), DGRAD_OK);
}

TEST_F(RunErrors, OverlappingTensors) {
  // One element into each side of a neighbour, and exactly on top of it.
  run_.in_backprop = At(kFilter + kOut - 4);
  EXPECT_INVALID(Run(), "in_backprop (160 bytes)", "out_backprop (96 bytes)", "overlap");
  run_.in_backprop = At(kFilter);
  EXPECT_INVALID(Run(), "in_backprop", "out_backprop", "overlap");
  run_.in_backprop = At(free_);
  run_.out_backprop = At(free_ + kIn - 4);
  EXPECT_INVALID(Run(), "in_backprop", "out_backprop", "overlap");
  run_.out_backprop = At(free_ + kIn);
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.filter = At(free_ + kIn - 4);
  EXPECT_INVALID(Run(), "in_backprop", "filter (144 bytes)", "overlap");
  // The two inputs may share memory.
  run_.filter = run_.out_backprop;
  EXPECT_STATUS(Run(), DGRAD_OK);
  // What counts is the tensor, not the length of the buffer it lies in.
  run_.filter = At(0);
  run_.filter_bytes = memory_.size() * sizeof(double);
  EXPECT_STATUS(Run(), DGRAD_OK);
}

TEST_F(RunErrors, Workspace) {
  ASSERT_GT(workspace_bytes_, 0u) << "this test needs an algorithm with a workspace";
  run_.workspace = At(free_ + 1);
  run_.workspace_bytes = workspace_bytes_;
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.workspace_bytes = workspace_bytes_ - 1;
  EXPECT_INVALID(Run(), "workspace_bytes is " + std::to_string(workspace_bytes_ - 1),
                 std::to_string(workspace_bytes_) + " bytes are needed");
  run_.workspace = nullptr;
  EXPECT_INVALID(Run(), "workspace is null");
  run_.workspace_bytes = workspace_bytes_;
  EXPECT_INVALID(Run(), "workspace is null");

  run_.workspace = At(kFilter + kOut + kIn - 1);
  EXPECT_INVALID(Run(), "in_backprop", "workspace", "overlap");
  run_.in_backprop = At(free_ + workspace_bytes_ / 8 * 8 + 8);
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.workspace = At(kFilter + kOut - 1);
  EXPECT_INVALID(Run(), "workspace", "out_backprop", "overlap");
  run_.out_backprop = At(free_ + workspace_bytes_ / 8 * 8 + 8 + kIn);
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.workspace = At(kFilter - 1);
  EXPECT_INVALID(Run(), "workspace", "filter", "overlap");
}

TEST_F(RunErrors, FilterAndPackedFilter) {
  ASSERT_NO_FATAL_FAILURE(Pack());
  run_.packed_filter = packed_;
  EXPECT_INVALID(Run(), "filter and packed_filter are both given");
  run_.filter = nullptr;
  EXPECT_INVALID(Run(), "filter_bytes is 144");
  run_.filter_bytes = 0;
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.packed_filter = reinterpret_cast<const dgrad_packed_filter*>(plan_);
  EXPECT_INVALID(Run(), "packed_filter is not", "dgrad_packed_filter");
}

TEST_F(RunErrors, PackedFilterOfAnotherProblem) {
  dgrad_problem* other_problem = nullptr;
  dgrad_plan* other_plan = nullptr;
  ASSERT_EQ(dgrad_problem_from_string("h9w9c2_k3x2_oc3_s2x2", &other_problem), DGRAD_OK);
  ASSERT_EQ(dgrad_plan_create(other_problem, nullptr, &other_plan), DGRAD_OK);
  ASSERT_EQ(dgrad_packed_filter_create(other_plan, At(0), kFilter, nullptr, 0, &packed_), DGRAD_OK);
  run_.filter = nullptr;
  run_.filter_bytes = 0;
  run_.packed_filter = packed_;
  EXPECT_INVALID(Run(), "packed_filter", "h9w9c2_k3x2_oc3_s2x2", "h4w5c2_k3x2_oc3");
  dgrad_plan_destroy(other_plan);
  dgrad_problem_destroy(other_problem);
}

TEST_F(RunErrors, PackedFilterStorage) {
  ASSERT_GT(packed_bytes_, 0u);
  const auto create = [&](const void* filter, std::uint64_t bytes, void* storage,
                          std::uint64_t storage_bytes) {
    dgrad_packed_filter* packed = nullptr;
    const dgrad_status status =
        dgrad_packed_filter_create(plan_, filter, bytes, storage, storage_bytes, &packed);
    EXPECT_EQ(packed != nullptr, status == DGRAD_OK);
    dgrad_packed_filter_destroy(packed);
    return status;
  };
  EXPECT_STATUS(create(At(0), kFilter, At(free_ + 1), packed_bytes_), DGRAD_OK);
  EXPECT_INVALID(create(nullptr, kFilter, nullptr, 0), "filter is null", "144");
  EXPECT_INVALID(create(nullptr, 0, nullptr, 0), "filter is null", "144");
  EXPECT_INVALID(create(At(0), kFilter - 1, nullptr, 0), "filter_bytes is 143", "144");
  EXPECT_INVALID(create(At(2), kFilter, nullptr, 0), "filter lies 2");
  EXPECT_INVALID(create(At(0), kFilter, nullptr, packed_bytes_), "storage is null");
  EXPECT_INVALID(create(At(0), kFilter, At(free_), packed_bytes_ - 1),
                 "storage_bytes is " + std::to_string(packed_bytes_ - 1),
                 std::to_string(packed_bytes_));
  EXPECT_INVALID(create(At(0), kFilter, At(kFilter - 1), packed_bytes_), "storage", "filter",
                 "overlap");

  // The storage is read by runs, so it must not be written by them.
  char* storage = At(free_);
  ASSERT_EQ(dgrad_packed_filter_create(plan_, At(0), kFilter, storage, packed_bytes_, &packed_),
            DGRAD_OK);
  run_.filter = nullptr;
  run_.filter_bytes = 0;
  run_.packed_filter = packed_;
  EXPECT_STATUS(Run(), DGRAD_OK);
  run_.in_backprop = At(free_ - kIn + 4);
  EXPECT_INVALID(Run(), "in_backprop", "packed_filter", "overlap");
}

TEST_F(RunErrors, Executors) {
  dgrad_executor executor = {};
  executor.struct_size = sizeof(executor);
  executor.concurrency = 1;
  executor.parallel_for = SerialFor;
  run_.executor = &executor;
  EXPECT_STATUS(Run(), DGRAD_OK);
  for (const std::int32_t concurrency : {0, -1}) {
    executor.concurrency = concurrency;
    EXPECT_INVALID(Run(), "concurrency is " + std::to_string(concurrency));
  }
  executor.concurrency = 1;
  executor.reserved = 1;
  EXPECT_INVALID(Run(), "executor->reserved");
  executor.reserved = 0;
  executor.parallel_for = nullptr;
  EXPECT_INVALID(Run(), "parallel_for is null");
}

TEST_F(RunErrors, FailingParallelFor) {
  // Large enough that the threads are asked.
  dgrad_problem* problem = nullptr;
  dgrad_plan* plan = nullptr;
  dgrad_plan_options options = {};
  options.struct_size = sizeof(options);
  options.threads = 4;
  ASSERT_EQ(dgrad_problem_from_string("n4_h56w56c32_k3x3_oc32_psame", &problem), DGRAD_OK);
  ASSERT_EQ(dgrad_plan_create(problem, &options, &plan), DGRAD_OK);
  std::vector<float> filter(9 * 32 * 32), out_backprop(4 * 56 * 56 * 32),
      in_backprop(out_backprop.size());
  dgrad_executor executor = {};
  executor.struct_size = sizeof(executor);
  executor.concurrency = 4;
  executor.parallel_for = [](void*, std::int64_t, dgrad_task, void*) -> std::int32_t { return 7; };
  dgrad_run_arguments run = {};
  run.struct_size = sizeof(run);
  run.filter = filter.data();
  run.filter_bytes = filter.size() * 4;
  run.out_backprop = out_backprop.data();
  run.out_backprop_bytes = out_backprop.size() * 4;
  run.in_backprop = in_backprop.data();
  run.in_backprop_bytes = in_backprop.size() * 4;
  run.executor = &executor;
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_INTERNAL, "parallel_for returned 7");
  executor.parallel_for = [](void*, std::int64_t, dgrad_task, void*) -> std::int32_t { throw 1; };
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_INTERNAL, "parallel_for threw");
  executor.parallel_for = SerialFor;
  run.poll = [](void*) -> std::int32_t { throw 1; };
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_INTERNAL, "poll threw");
  run.poll = [](void*) -> std::int32_t { return -1; };
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_CANCELLED, "cancelled");
  run.poll = nullptr;
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_OK);
  dgrad_plan_destroy(plan);
  dgrad_problem_destroy(problem);
}

TEST_F(RunErrors, MisalignedCancelFlag) {
  run_.cancel = reinterpret_cast<const std::int32_t*>(At(free_ + 1));
  EXPECT_INVALID(Run(), "cancel", "aligned");
}

TEST_F(RunErrors, EmptyTensorsMayBeNull) {
  dgrad_problem* problem = nullptr;
  dgrad_plan* plan = nullptr;
  ASSERT_EQ(dgrad_problem_from_string("n1_h4w5c2_k3x2_oc0", &problem), DGRAD_OK);
  ASSERT_EQ(dgrad_plan_create(problem, nullptr, &plan), DGRAD_OK) << dgrad_last_error();
  std::vector<float> result(40, -1);
  dgrad_run_arguments run = {};
  run.struct_size = sizeof(run);
  run.in_backprop = result.data();
  run.in_backprop_bytes = kIn;
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_OK);
  EXPECT_EQ(result, std::vector<float>(40, 0));
  // Empty tensors overlap nothing and have no alignment.
  result.assign(40, -1);
  run.filter = reinterpret_cast<const char*>(result.data()) + 1;
  run.out_backprop = result.data();
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_OK);
  EXPECT_EQ(result, std::vector<float>(40, 0));
  // An empty filter can be packed, too.
  dgrad_packed_filter* packed = nullptr;
  EXPECT_STATUS(dgrad_packed_filter_create(plan, nullptr, 0, nullptr, 0, &packed), DGRAD_OK);
  result.assign(40, -1);
  run.filter = nullptr;
  run.packed_filter = packed;
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_OK);
  EXPECT_EQ(result, std::vector<float>(40, 0));
  result.assign(40, -1);
  EXPECT_STATUS(dgrad_reference(problem, nullptr, 0, nullptr, 0, result.data(), kIn), DGRAD_OK);
  EXPECT_EQ(result, std::vector<float>(40, 0));
  dgrad_packed_filter_destroy(packed);
  dgrad_plan_destroy(plan);
  dgrad_problem_destroy(problem);

  ASSERT_EQ(dgrad_problem_from_string("n0_h4w5c2_k3x2_oc3", &problem), DGRAD_OK);
  ASSERT_EQ(dgrad_plan_create(problem, nullptr, &plan), DGRAD_OK) << dgrad_last_error();
  run = {};
  run.struct_size = sizeof(run);
  run.filter = At(0);
  run.filter_bytes = kFilter;
  EXPECT_STATUS(dgrad_run(plan, &run), DGRAD_OK);
  dgrad_plan_destroy(plan);
  dgrad_problem_destroy(problem);
}

TEST_F(RunErrors, Reference) {
  const auto reference = [&](const void* filter, std::uint64_t filter_bytes, const void* out,
                             std::uint64_t out_bytes, void* in, std::uint64_t in_bytes) {
    return dgrad_reference(problem_, filter, filter_bytes, out, out_bytes, in, in_bytes);
  };
  char* const f = At(0);
  char* const o = At(kFilter);
  char* const i = At(kFilter + kOut);
  EXPECT_STATUS(reference(f, kFilter, o, kOut, i, kIn), DGRAD_OK);
  EXPECT_INVALID(reference(nullptr, kFilter, o, kOut, i, kIn), "filter is null");
  EXPECT_INVALID(reference(f, kFilter, nullptr, kOut, i, kIn), "out_backprop is null");
  EXPECT_INVALID(reference(f, kFilter, o, kOut, nullptr, kIn), "in_backprop is null");
  EXPECT_INVALID(reference(f, kFilter - 1, o, kOut, i, kIn), "filter_bytes is 143", "144");
  EXPECT_INVALID(reference(f, kFilter, o, kOut - 1, i, kIn), "out_backprop_bytes is 95", "96");
  EXPECT_INVALID(reference(f, kFilter, o, kOut, i, kIn - 1), "in_backprop_bytes is 159", "160");
  EXPECT_INVALID(reference(f, kFilter, o, kOut, i + 2, kIn), "in_backprop lies 2");
  EXPECT_INVALID(reference(f, kFilter, o, kOut, o, kIn), "in_backprop", "out_backprop", "overlap");
  EXPECT_INVALID(reference(i + 4, kFilter, o, kOut, i, kIn), "in_backprop", "filter", "overlap");
}

}  // namespace
}  // namespace dgrad_test
