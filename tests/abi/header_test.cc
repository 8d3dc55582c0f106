// The C++ header: errors as exceptions, lists, ownership, threads and poll functions of the caller.
#include <dgrad/dgrad.hpp>
// First, so that the header is seen to include what it needs.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

static_assert(dgrad::Tensor<std::vector<float>> && dgrad::Tensor<std::span<const double>>);
static_assert(dgrad::Tensor<std::array<std::int32_t, 3>> && dgrad::Tensor<dgrad::Float16[4]>);
static_assert(!dgrad::Tensor<std::vector<char>> && !dgrad::Tensor<float>);
static_assert(!dgrad::WritableTensor<const std::vector<float>&>);
static_assert(!dgrad::WritableTensor<std::span<const float>>);
static_assert(!std::is_copy_constructible_v<dgrad::Problem> &&
              std::is_nothrow_move_constructible_v<dgrad::Problem>);
static_assert(!std::is_copy_constructible_v<dgrad::Plan> &&
              std::is_nothrow_move_constructible_v<dgrad::Plan>);
static_assert(!std::is_copy_constructible_v<dgrad::PackedFilter> &&
              std::is_nothrow_move_constructible_v<dgrad::PackedFilter>);

// Large enough that several threads are worth while.
constexpr const char* kLarge = "n4_h56w56c32_k3x3_oc32_psame";
constexpr const char* kSmall = "h4w5c2_k3x2_oc3";

struct LargeRun {
  explicit LargeRun(const char* text = kLarge)
      : problem(text),
        plan(problem, {.threads = 4}),
        filter(SmallIntegers<float>(problem.info().filter_bytes / 4, 1)),
        out_backprop(SmallIntegers<float>(problem.info().out_backprop_bytes / 4, 2)),
        in_backprop(problem.info().in_backprop_bytes / 4) {}

  void Run(const dgrad::RunOptions& options) {
    plan.run(filter, out_backprop, in_backprop, options);
  }

  dgrad::Problem problem;
  dgrad::Plan plan;
  std::vector<float> filter;
  std::vector<float> out_backprop;
  std::vector<float> in_backprop;
};

TEST(Header, ErrorsCarryStatusAndText) {
  try {
    dgrad::Problem({.input_sizes = {1, 4, 5, 2}, .filter_shape = {3, 2, 2}});
    FAIL() << "a filter of rank 3 was accepted";
  } catch (const dgrad::Error& error) {
    EXPECT_EQ(error.status(), DGRAD_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("filter_shape"), std::string::npos) << error.what();
  }
  EXPECT_THROW(
      dgrad::Problem(
          {.input_sizes = {1, 4, 5, 2}, .filter_shape = {3, 2, 2, 3}, .strides = {2, 1, 1, 1}}),
      dgrad::UnimplementedError);
  EXPECT_THROW(dgrad::Problem("nonsense"), dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::Problem(std::string(kSmall) + '\0' + "x"), dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::check(DGRAD_OUT_OF_MEMORY), dgrad::OutOfMemoryError);
  EXPECT_THROW(dgrad::check(DGRAD_CANCELLED), dgrad::CancelledError);
  EXPECT_THROW(dgrad::check(DGRAD_INTERNAL), dgrad::Error);
  EXPECT_NO_THROW(dgrad::check(DGRAD_OK));
}

TEST(Header, ProblemsTellTheirShapes) {
  const dgrad::Problem problem({.input_sizes = {2, 4, 6, 5},
                                .filter_shape = {3, 3, 2, 8},
                                .strides = {1, 1, 2, 2},
                                .padding = dgrad::Padding::kSame,
                                .data_format = dgrad::DataFormat::kNchw,
                                .dtype = dgrad::Dtype::kFloat64});
  EXPECT_EQ(problem.in_backprop_shape(), (std::array<std::int64_t, 4>{2, 4, 6, 5}));
  EXPECT_EQ(problem.out_backprop_shape(), (std::array<std::int64_t, 4>{2, 8, 3, 3}));
  EXPECT_EQ(problem.filter_shape(), (std::array<std::int64_t, 4>{3, 3, 2, 8}));
  EXPECT_EQ(problem.info().groups, 2);
  EXPECT_EQ(problem.info().paddings[1], 1);
  EXPECT_EQ(problem.dtype(), dgrad::Dtype::kFloat64);
  EXPECT_EQ(problem.data_format(), dgrad::DataFormat::kNchw);
  EXPECT_EQ(dgrad::Problem(problem.to_string()).to_string(), problem.to_string());
}

TEST(Header, TwoElementSizesTakeTheRestFromTheTensors) {
  const dgrad::Problem problem({.input_sizes = {4, 5},
                                .filter_shape = {3, 2, 2, 3},
                                .out_backprop_shape = dgrad::Sizes{7, 2, 4, 3}});
  EXPECT_EQ(problem.in_backprop_shape(), (std::array<std::int64_t, 4>{7, 4, 5, 2}));
}

TEST(Header, ListsComeFromManyTypes) {
  const std::vector<int> vector = {1, 4, 5, 2};
  const std::array<unsigned long, 4> filter = {3, 2, 2, 3};
  const short strides[] = {1, 1, 1, 1};
  const dgrad::Problem problem({.input_sizes = vector, .filter_shape = filter, .strides = strides});
  EXPECT_EQ(problem.to_string(), dgrad::Problem(kSmall).to_string());
  EXPECT_THROW(dgrad::Sizes(std::vector<int>(9)), dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::Sizes(std::vector<std::uint64_t>{std::uint64_t{1} << 63}),
               dgrad::InvalidArgumentError);
}

TEST(Header, WrongElementTypesAreErrors) {
  LargeRun data(kSmall);
  std::vector<double> doubles(40);
  EXPECT_THROW(data.plan.run(data.filter, data.out_backprop, doubles), dgrad::InvalidArgumentError);
  EXPECT_THROW(data.plan.run(doubles, data.out_backprop, data.in_backprop),
               dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::PackedFilter(data.plan, doubles), dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::reference(data.problem, data.filter, doubles, data.in_backprop),
               dgrad::InvalidArgumentError);
}

TEST(Header, BytesAndElementsGiveTheSame) {
  LargeRun data(kSmall);
  data.Run({});
  const std::vector<float> expected = std::exchange(data.in_backprop, std::vector<float>(40, -1));
  const auto filter = std::as_bytes(std::span(data.filter));
  const auto out_backprop = std::as_bytes(std::span(data.out_backprop));
  data.plan.run(filter, out_backprop, std::as_writable_bytes(std::span(data.in_backprop)));
  EXPECT_EQ(data.in_backprop, expected);

  const dgrad::Plan packing(data.problem, {.filter_packed = true});
  const dgrad::PackedFilter from_bytes(packing, filter);
  const dgrad::PackedFilter from_elements(packing, data.filter);
  std::vector<float> results[2] = {std::vector<float>(40, -1), std::vector<float>(40, -2)};
  packing.run(from_bytes, out_backprop, std::as_writable_bytes(std::span(results[0])));
  packing.run(from_elements, data.out_backprop, results[1]);
  EXPECT_EQ(results[0], results[1]);
}

TEST(Header, HandlesMove) {
  dgrad::Problem problem(kSmall);
  dgrad::Problem moved = std::move(problem);
  EXPECT_EQ(moved.to_string(), kSmall);
  dgrad::Plan plan(moved);
  dgrad::Plan moved_plan = std::move(plan);
  EXPECT_FALSE(moved_plan.algorithm().empty());
  const std::vector<float> filter(36, 1);
  const std::vector<float> out_backprop(24, 1);
  std::vector<float> in_backprop(40);
  dgrad::PackedFilter packed(moved_plan, filter);
  dgrad::PackedFilter moved_packed = std::move(packed);
  moved_plan.run(moved_packed, out_backprop, in_backprop);
  // What was moved from is an error, not a crash.
  EXPECT_THROW(plan.run(filter, out_backprop, in_backprop), dgrad::InvalidArgumentError);
  EXPECT_THROW(moved_plan.run(packed, out_backprop, in_backprop), dgrad::InvalidArgumentError);
  EXPECT_THROW(problem.to_string(), dgrad::InvalidArgumentError);
}

TEST(Header, PackedFiltersOutliveTheirPlan) {
  const dgrad::Problem problem(kSmall);
  const std::vector<float> filter = SmallIntegers<float>(36, 1);
  auto plan = std::make_unique<dgrad::Plan>(problem);
  const dgrad::PackedFilter packed(*plan, filter);
  plan.reset();
  dgrad::trim();
  std::vector<float> in_backprop(40, -1);
  const std::vector<float> out_backprop = SmallIntegers<float>(24, 2);
  dgrad::Plan(problem).run(packed, out_backprop, in_backprop);
  std::vector<float> expected(40, -2);
  dgrad::reference(problem, filter, out_backprop, expected);
  EXPECT_EQ(in_backprop, expected);
}

TEST(Header, CallersThreadsGiveTheSameBits) {
  LargeRun data;
  data.Run({});
  const std::vector<float> expected = std::move(data.in_backprop);
  data.in_backprop.assign(expected.size(), -1);
  std::atomic<int> tasks = 0;
  const dgrad::Executor executor(3, [&](std::int64_t count, const dgrad::Task& task) {
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        task(i);
        ++tasks;
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  data.Run({.executor = &executor});
  EXPECT_EQ(data.in_backprop, expected);
  EXPECT_GT(tasks, 1);

  // One after the other, last one first.
  data.in_backprop.assign(expected.size(), -1);
  const dgrad::Executor backwards(4, [&](std::int64_t count, const dgrad::Task& task) {
    while (count > 0) task(--count);
  });
  data.Run({.executor = &backwards});
  EXPECT_EQ(data.in_backprop, expected);
}

TEST(Header, WhatParallelForThrowsComesOut) {
  LargeRun data;
  const dgrad::Executor executor(
      4, [](std::int64_t, const dgrad::Task&) { throw std::logic_error("no threads today"); });
  EXPECT_THROW(data.Run({.executor = &executor}), std::logic_error);
}

TEST(Header, ForgottenAndUnknownTasksAreInternalErrors) {
  LargeRun data;
  const dgrad::Executor forgetful(4, [](std::int64_t count, const dgrad::Task& task) {
    for (std::int64_t i = 1; i < count; ++i) task(i);
  });
  const dgrad::Executor eager(4, [](std::int64_t count, const dgrad::Task& task) {
    for (std::int64_t i = 0; i <= count; ++i) task(i);
  });
  for (const dgrad::Executor* executor : {&forgetful, &eager}) {
    try {
      data.Run({.executor = executor});
      FAIL() << "no error";
    } catch (const dgrad::Error& error) {
      EXPECT_EQ(error.status(), DGRAD_INTERNAL);
      EXPECT_NE(std::string(error.what()).find("parallel_for"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(dgrad::Executor(0, forgetful.parallel_for()), dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::Executor(1, nullptr), dgrad::InvalidArgumentError);
}

TEST(Header, CancelFlagsAndPollsCancel) {
  for (const char* text : {kSmall, kLarge}) {
    SCOPED_TRACE(text);
    LargeRun data(text);
    const std::int32_t cancel = 1;
    EXPECT_THROW(data.Run({.cancel = &cancel}), dgrad::CancelledError);
    int polls = 0;
    EXPECT_THROW(data.Run({.poll = [&] { return ++polls > 0; }}), dgrad::CancelledError);
    EXPECT_GT(polls, 0);
    EXPECT_THROW(data.Run({.poll = []() -> bool { throw std::range_error("interrupted"); }}),
                 std::range_error);
    // And the plan works on.
    const std::int32_t no_cancel = 0;
    EXPECT_NO_THROW(data.Run({.cancel = &no_cancel, .poll = [] { return false; }}));
  }
}

TEST(Header, PollsRunOnTheCallingThread) {
  LargeRun data;
  const std::thread::id caller = std::this_thread::get_id();
  bool elsewhere = false;
  int polls = 0;
  data.Run({.poll = [&] {
    elsewhere = elsewhere || std::this_thread::get_id() != caller;
    ++polls;
    return false;
  }});
  EXPECT_FALSE(elsewhere);
  EXPECT_GT(polls, 0);
}

TEST(Header, PlansRunInManyThreadsAtOnce) {
  LargeRun data("n2_h20w20c16_k3x3_oc16_psame");
  data.Run({});
  const std::vector<float> expected = data.in_backprop;
  std::vector<std::vector<float>> results(4, std::vector<float>(expected.size(), -1));
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) data.plan.run(data.filter, data.out_backprop, result);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, expected);
}

TEST(Header, TheThreadsDoNotChangeTheBits) {
  LargeRun data;
  data.Run({});
  const std::vector<float> expected = data.in_backprop;
  for (const std::int32_t threads : {1, 2, 7}) {
    const dgrad::Plan plan(data.problem, {.threads = threads});
    std::vector<float> result(expected.size(), -1);
    plan.run(data.filter, data.out_backprop, result);
    EXPECT_EQ(result, expected) << threads;
  }
}

TEST(Header, LibraryFunctions) {
  EXPECT_FALSE(dgrad::algorithms().empty());
  EXPECT_THROW(dgrad::refusal(dgrad::Problem(kSmall), "no such algorithm"),
               dgrad::InvalidArgumentError);
  EXPECT_THROW(dgrad::set_num_threads(-1), dgrad::InvalidArgumentError);
  dgrad::set_num_threads(2);
  EXPECT_EQ(dgrad::num_threads(), 2);
  EXPECT_EQ(dgrad::Plan(dgrad::Problem(kSmall)).threads(), 2);
  dgrad::set_num_threads(0);
  EXPECT_NE(dgrad::info().find("\"version\": \"" + dgrad::version() + '"'), std::string::npos);
}

}  // namespace
}  // namespace dgrad_test
