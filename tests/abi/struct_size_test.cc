// Structs of callers that know fewer or more fields than the library.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

// A struct with bytes after it that only a newer caller knows.
template <typename Struct>
struct Newer {
  Struct known = {};
  unsigned char extra[24] = {};

  Newer() { known.struct_size = sizeof(Newer); }
};

// Calls `call` with every illegal size of the struct, and with newer structs.
template <typename Struct, typename Call>
void ExpectSizeRules(const Struct& legal, const char* name, Call call) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{sizeof(Struct) - 8}, std::uint64_t{4097},
        std::uint64_t{1} << 60, std::numeric_limits<std::uint64_t>::max()}) {
    Struct given = legal;
    given.struct_size = size;
    EXPECT_INVALID(call(&given), name, "struct_size", std::to_string(size));
  }
  Newer<Struct> newer;
  newer.known = legal;
  newer.known.struct_size = sizeof(newer);
  EXPECT_STATUS(call(&newer.known), DGRAD_OK);
  newer.extra[sizeof(newer.extra) - 1] = 1;
  EXPECT_INVALID(call(&newer.known), name, "struct_size", "zero");
}

class StructSize : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(dgrad_problem_create(&base_.c, &problem_), DGRAD_OK) << dgrad_last_error();
    ASSERT_EQ(dgrad_plan_create(problem_, nullptr, &plan_), DGRAD_OK) << dgrad_last_error();
    run_.struct_size = sizeof(run_);
    run_.filter = filter_;
    run_.filter_bytes = sizeof(filter_);
    run_.out_backprop = out_backprop_;
    run_.out_backprop_bytes = sizeof(out_backprop_);
    run_.in_backprop = in_backprop_;
    run_.in_backprop_bytes = sizeof(in_backprop_);
  }
  void TearDown() override {
    dgrad_plan_destroy(plan_);
    dgrad_problem_destroy(problem_);
  }

  BaseArguments base_;
  dgrad_problem* problem_ = nullptr;
  dgrad_plan* plan_ = nullptr;
  float filter_[36] = {};
  float out_backprop_[24] = {};
  float in_backprop_[40] = {};
  dgrad_run_arguments run_ = {};
};

std::int32_t SerialFor(void*, std::int64_t count, dgrad_task task, void* context) {
  for (std::int64_t i = 0; i < count; ++i) task(context, i);
  return 0;
}

TEST_F(StructSize, Arguments) {
  ExpectSizeRules(base_.c, "arguments", [](const dgrad_arguments* arguments) {
    dgrad_problem* problem = nullptr;
    const dgrad_status status = dgrad_problem_create(arguments, &problem);
    dgrad_problem_destroy(problem);
    return status;
  });
  ExpectSizeRules(base_.c, "arguments", [&](const dgrad_arguments* arguments) {
    return dgrad_conv2d_backprop_input(arguments, nullptr, &run_);
  });
}

TEST_F(StructSize, PlanOptions) {
  dgrad_plan_options options = {};
  options.struct_size = sizeof(options);
  ExpectSizeRules(options, "options", [&](const dgrad_plan_options* given) {
    dgrad_plan* plan = nullptr;
    const dgrad_status status = dgrad_plan_create(problem_, given, &plan);
    dgrad_plan_destroy(plan);
    return status;
  });
}

TEST_F(StructSize, RunArguments) {
  ExpectSizeRules(run_, "run",
                  [&](const dgrad_run_arguments* run) { return dgrad_run(plan_, run); });
  ExpectSizeRules(run_, "run", [&](const dgrad_run_arguments* run) {
    return dgrad_conv2d_backprop_input(&base_.c, nullptr, run);
  });
}

TEST_F(StructSize, Executor) {
  dgrad_executor executor = {};
  executor.struct_size = sizeof(executor);
  executor.concurrency = 1;
  executor.parallel_for = SerialFor;
  ExpectSizeRules(executor, "executor", [&](const dgrad_executor* given) {
    dgrad_run_arguments run = run_;
    run.executor = given;
    return dgrad_run(plan_, &run);
  });
}

// Results: a newer caller's extra fields are left alone.
template <typename Info, typename Call>
void ExpectInfoRules(Call call) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{sizeof(Info) - 8}, std::uint64_t{4097}}) {
    Info info;
    std::memset(&info, 0x11, sizeof(info));
    info.struct_size = size;
    EXPECT_INVALID(call(&info), "info", "struct_size", std::to_string(size));
    Info untouched;
    std::memset(&untouched, 0x11, sizeof(untouched));
    untouched.struct_size = size;
    EXPECT_EQ(std::memcmp(&info, &untouched, sizeof(info)), 0) << "written on failure";
  }
  Newer<Info> newer;
  newer.extra[0] = 0x22;  // what lies there is not read
  EXPECT_STATUS(call(&newer.known), DGRAD_OK);
  EXPECT_EQ(newer.known.struct_size, sizeof(newer));
  EXPECT_EQ(newer.extra[0], 0x22);
  Info exact = {};
  exact.struct_size = sizeof(exact);
  EXPECT_STATUS(call(&exact), DGRAD_OK);
  EXPECT_EQ(exact.struct_size, sizeof(exact));
  exact.struct_size = newer.known.struct_size;
  EXPECT_EQ(std::memcmp(&exact, &newer.known, sizeof(exact)), 0);
}

TEST_F(StructSize, ProblemInfo) {
  ExpectInfoRules<dgrad_problem_info>(
      [&](dgrad_problem_info* info) { return dgrad_problem_get_info(problem_, info); });
}

TEST_F(StructSize, PlanInfo) {
  ExpectInfoRules<dgrad_plan_info>(
      [&](dgrad_plan_info* info) { return dgrad_plan_get_info(plan_, info); });
}

}  // namespace
}  // namespace dgrad_test
