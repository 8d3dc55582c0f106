// The problems of shapes/: every line is read, and every algorithm that serves a small one gives
// the definition's values.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "src/problem/problem_string.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr double kSmall = 3e6;  // multiply-adds

class ShapesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ShapesTest, EveryAlgorithmGivesTheDefinition) {
  std::ifstream file(std::string(DGRAD_SOURCE_DIR) + "/shapes/" + GetParam());
  ASSERT_TRUE(file);
  int problems = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find_first_of(" #"));
    // A line that begins with '!' and a status is a problem to refuse.
    if (text.empty() || text[0] == '!') continue;
    SCOPED_TRACE(text);
    Problem problem;
    const Status status = ParseProblem(text, &problem);
    ASSERT_TRUE(status.ok()) << status.message();
    ++problems;
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(Plan::Create(problem, {}, &plan).ok());
    if (problem.multiply_adds() > kSmall) continue;
    for (int i = 0; i < AlgorithmCount(); ++i) {
      std::string reason;
      ASSERT_TRUE(Refusal(problem, {}, AlgorithmName(i), &reason).ok());
      if (reason.empty()) CheckEverywhere(text, AlgorithmName(i), Fill::kReal);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(problems, 20);
}

INSTANTIATE_TEST_SUITE_P(Files, ShapesTest,
                         ::testing::Values("suite.txt", "networks.txt", "edges.txt"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(InvalidShapes, AreRefused) {
  constexpr std::string_view kMark = "!invalid_argument ";
  std::ifstream file(std::string(DGRAD_SOURCE_DIR) + "/shapes/invalid.txt");
  ASSERT_TRUE(file);
  int problems = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    ASSERT_TRUE(line.starts_with(kMark));
    const std::string rest = line.substr(kMark.size());
    Problem problem;
    EXPECT_EQ(ParseProblem(rest.substr(0, rest.find_first_of(" #")), &problem).code(),
              Code::kInvalidArgument);
    ++problems;
  }
  EXPECT_GE(problems, 20);
}

}  // namespace
}  // namespace dgrad::testing
