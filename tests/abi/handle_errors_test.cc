// Handles that are null or of another type, plan options and library calls that are refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

class HandleErrors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(dgrad_problem_create(&base_.c, &problem_), DGRAD_OK) << dgrad_last_error();
    options_.struct_size = sizeof(options_);
    ASSERT_EQ(dgrad_plan_create(problem_, nullptr, &plan_), DGRAD_OK) << dgrad_last_error();
  }
  void TearDown() override {
    dgrad_plan_destroy(plan_);
    dgrad_problem_destroy(problem_);
  }

  // The status of planning under options_.
  dgrad_status Create() {
    dgrad_plan* plan = nullptr;
    const dgrad_status status = dgrad_plan_create(problem_, &options_, &plan);
    EXPECT_EQ(plan != nullptr, status == DGRAD_OK);
    dgrad_plan_destroy(plan);
    return status;
  }

  BaseArguments base_;
  dgrad_problem* problem_ = nullptr;
  dgrad_plan* plan_ = nullptr;
  dgrad_plan_options options_ = {};
};

TEST_F(HandleErrors, NullHandles) {
  char buffer[8];
  std::uint64_t size = 0;
  dgrad_problem_info problem_info = {};
  problem_info.struct_size = sizeof(problem_info);
  dgrad_plan_info plan_info = {};
  plan_info.struct_size = sizeof(plan_info);
  dgrad_plan* plan = nullptr;
  dgrad_packed_filter* packed = nullptr;
  const float filter[36] = {};
  dgrad_run_arguments run = {};
  run.struct_size = sizeof(run);
  EXPECT_INVALID(dgrad_problem_to_string(nullptr, buffer, 8, &size), "problem is null");
  EXPECT_INVALID(dgrad_problem_get_info(nullptr, &problem_info), "problem is null");
  EXPECT_INVALID(dgrad_problem_get_info(problem_, nullptr), "info is null");
  EXPECT_INVALID(dgrad_plan_create(nullptr, nullptr, &plan), "problem is null");
  EXPECT_INVALID(dgrad_plan_create(problem_, nullptr, nullptr), "plan is null");
  EXPECT_INVALID(dgrad_plan_get_info(nullptr, &plan_info), "plan is null");
  EXPECT_INVALID(dgrad_plan_get_info(plan_, nullptr), "info is null");
  EXPECT_INVALID(dgrad_plan_explain(nullptr, buffer, 8, &size), "plan is null");
  EXPECT_INVALID(dgrad_packed_filter_create(nullptr, filter, sizeof(filter), nullptr, 0, &packed),
                 "plan is null");
  EXPECT_INVALID(dgrad_packed_filter_create(plan_, filter, sizeof(filter), nullptr, 0, nullptr),
                 "packed_filter is null");
  EXPECT_INVALID(dgrad_run(nullptr, &run), "plan is null");
  EXPECT_INVALID(dgrad_run(plan_, nullptr), "run is null");
  EXPECT_INVALID(dgrad_conv2d_backprop_input(nullptr, nullptr, &run), "arguments is null");
  EXPECT_INVALID(dgrad_conv2d_backprop_input(&base_.c, nullptr, nullptr), "run is null");
  EXPECT_INVALID(dgrad_reference(nullptr, filter, 144, filter, 96, buffer, 160), "problem is null");
  EXPECT_INVALID(dgrad_algorithm_refusal(nullptr, nullptr, "x", buffer, 8, &size),
                 "problem is null");
  EXPECT_INVALID(dgrad_algorithm_refusal(problem_, nullptr, nullptr, buffer, 8, &size),
                 "algorithm is null");
}

TEST_F(HandleErrors, HandlesOfAnotherType) {
  std::uint64_t size = 0;
  const auto* not_a_plan = reinterpret_cast<const dgrad_plan*>(problem_);
  const auto* not_a_problem = reinterpret_cast<const dgrad_problem*>(plan_);
  const auto* odd = reinterpret_cast<const dgrad_plan*>(reinterpret_cast<const char*>(plan_) + 1);
  EXPECT_INVALID(dgrad_plan_explain(not_a_plan, nullptr, 0, &size), "plan", "dgrad_plan");
  EXPECT_INVALID(dgrad_plan_explain(odd, nullptr, 0, &size), "plan", "dgrad_plan");
  EXPECT_INVALID(dgrad_problem_to_string(not_a_problem, nullptr, 0, &size), "problem");
  // Destroying the wrong thing leaves it alone; it works on.
  dgrad_plan_destroy(const_cast<dgrad_plan*>(not_a_plan));
  dgrad_problem_destroy(const_cast<dgrad_problem*>(not_a_problem));
  EXPECT_EQ(dgrad_plan_explain(plan_, nullptr, 0, &size), DGRAD_OK);
  EXPECT_EQ(dgrad_problem_to_string(problem_, nullptr, 0, &size), DGRAD_OK);
}

TEST_F(HandleErrors, PlanOptions) {
  EXPECT_STATUS(Create(), DGRAD_OK);
  for (const std::int32_t threads : {-1, 1025, std::numeric_limits<std::int32_t>::min()}) {
    options_.threads = threads;
    EXPECT_INVALID(Create(), "threads", std::to_string(threads), "1024");
  }
  options_.threads = 1024;
  EXPECT_STATUS(Create(), DGRAD_OK);
  for (const std::int32_t accuracy : {-1, 2}) {
    options_.accuracy = accuracy;
    EXPECT_INVALID(Create(), "accuracy", std::to_string(accuracy));
  }
  options_.accuracy = DGRAD_STRICT;
  for (const std::int32_t isa : {-1, 6}) {
    options_.isa = isa;
    EXPECT_INVALID(Create(), "isa", std::to_string(isa));
  }
  options_.isa = DGRAD_ISA_SCALAR;
  EXPECT_STATUS(Create(), DGRAD_OK);
  options_.workspace_limit = std::numeric_limits<std::uint64_t>::max();
  EXPECT_STATUS(Create(), DGRAD_OK);
  options_.algorithm = "";
  EXPECT_INVALID(Create(), "algorithm");
  options_.algorithm = "no_such_algorithm";
  EXPECT_INVALID(Create(), "no_such_algorithm", dgrad_algorithm_name(0));
  options_.algorithm = dgrad_algorithm_name(dgrad_algorithm_count());
  EXPECT_STATUS(Create(), DGRAD_OK);
}

TEST_F(HandleErrors, LongWordsAreCutInTheLastError) {
  // Two-byte characters, so that a cut in the middle of one would show.
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "\xC3\xA9";
  for (const int shift : {0, 1}) {
    const std::string shifted = std::string(static_cast<std::size_t>(shift), 'x') + name;
    options_.algorithm = shifted.c_str();
    EXPECT_STATUS(Create(), DGRAD_INVALID_ARGUMENT);
    const std::string text = dgrad_last_error();
    EXPECT_LT(text.size(), 1024u);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\xC3') continue;
      ASSERT_TRUE(i + 1 < text.size() && text[i + 1] == '\xA9') << "cut at " << i;
    }
  }
}

TEST_F(HandleErrors, AlgorithmRefusal) {
  std::uint64_t size = 0;
  EXPECT_INVALID(dgrad_algorithm_refusal(problem_, nullptr, "no_such_algorithm", nullptr, 0, &size),
                 "no_such_algorithm", dgrad_algorithm_name(0));
  options_.accuracy = 7;
  EXPECT_INVALID(
      dgrad_algorithm_refusal(problem_, &options_, dgrad_algorithm_name(0), nullptr, 0, &size),
      "accuracy");
  EXPECT_INVALID(
      dgrad_algorithm_refusal(problem_, nullptr, dgrad_algorithm_name(0), nullptr, 0, nullptr),
      "buffer", "size");
}

TEST_F(HandleErrors, LibraryCalls) {
  for (const std::int32_t threads : {-1, 1025}) {
    EXPECT_INVALID(dgrad_set_num_threads(threads), "threads", std::to_string(threads));
  }
  EXPECT_INVALID(dgrad_info(nullptr, 0, nullptr), "buffer", "size");
  char one = 'x';
  EXPECT_INVALID(dgrad_info(&one, 1, nullptr), "buffer_bytes is 1");
  EXPECT_EQ(one, 'x');
}

}  // namespace
}  // namespace dgrad_test
