#include "src/problem/problem_string.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "src/problem/arguments.h"

namespace dgrad {
namespace {

Problem ParseOrFail(const std::string& text) {
  Problem problem;
  const Status status = ParseProblem(text, &problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

TEST(ProblemStringTest, ReadsEveryPart) {
  const Problem expected = {.batch = 8,
                            .rows = {.in = 56,
                                     .out = 27,
                                     .taps = 3,
                                     .stride = 2,
                                     .dilation = 3,
                                     .pad_before = 1,
                                     .pad_after = 2},
                            .columns = {.in = 57,
                                        .out = 20,
                                        .taps = 5,
                                        .stride = 3,
                                        .dilation = 1,
                                        .pad_before = 3,
                                        .pad_after = 4},
                            .in_channels = 64,
                            .out_channels = 128,
                            .groups = 4,
                            .layout = Layout::kNchw,
                            .dtype = DType::kBF16};
  const std::string text = "n8_h56w57c64_k3x5_oc128_s2x3_p1,2,3,4_d3x1_g4_nchw_bf16";
  EXPECT_EQ(ParseOrFail(text), expected);
  EXPECT_EQ(ToString(expected), text);
}

TEST(ProblemStringTest, DefaultsMayBeLeftOutOrSpelled) {
  const Problem problem = ParseOrFail("h4w5c2_k3x2_oc3");
  EXPECT_EQ(problem.batch, 1);
  EXPECT_EQ(problem.groups, 1);
  EXPECT_EQ(problem.rows.out, 2);
  EXPECT_EQ(problem.columns.out, 4);
  EXPECT_EQ(problem.layout, Layout::kNhwc);
  EXPECT_EQ(problem.dtype, DType::kF32);
  EXPECT_EQ(ParseOrFail("n1_h4w5c2_k3x2_oc3_s1x1_p0,0,0,0_d1x1_g1_nhwc_f32"), problem);
  EXPECT_EQ(ParseOrFail("h4w5c2_k3x2_oc3_pvalid_f32"), problem);
  EXPECT_EQ(ToString(problem), "h4w5c2_k3x2_oc3");
}

TEST(ProblemStringTest, SameIsPrintedAsNumbers) {
  EXPECT_EQ(ToString(ParseOrFail("h4w5c2_k3x2_oc3_psame")), "h4w5c2_k3x2_oc3_p1,1,0,1");
  // Unless the filter has no taps: then no numbers give SAME's size.
  EXPECT_EQ(ParseOrFail("h4w5c2_k0x2_oc3_psame").rows.out, 4);
  EXPECT_EQ(ToString(ParseOrFail("h4w5c2_k0x2_oc3_psame")), "h4w5c2_k0x2_oc3_psame");
}

TEST(ProblemStringTest, NamesEveryType) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI32}) {
    const Problem problem = ParseOrFail(std::string("h4w5c2_k3x2_oc3_") + Name(dtype));
    EXPECT_EQ(problem.dtype, dtype);
    EXPECT_EQ(ParseOrFail(ToString(problem)), problem);
  }
}

TEST(ProblemStringTest, Refuses) {
  struct Refusal {
    const char* text;
    const char* words;
  };
  const Refusal refusals[] = {
      {"", "position 0: expected a part 'h' with a number, found ''"},
      {"_", "position 0: expected a part 'h'"},
      {"hello", "position 0: expected a part 'h' with a number, found 'hello'"},
      {"n8", "position 2: expected a part 'h' with a number, found ''"},
      {"n8_k3x3_oc3", "position 3: expected a part 'h' with a number, found 'k3x3'"},
      {"h4w5_k3x2_oc3", "position 4: expected 'c', found ''"},
      {"h4w5c_k3x2_oc3", "position 5: expected a number"},
      {"h4w5c2", "position 6: expected"},
      {"h4w5c2_k3_oc3", "position 9: expected 'x'"},
      {"h4w5c2_k3x2", "position 11: expected"},
      {"h4w5c2_oc3", "position 7: expected a part 'k' with a number, found 'oc3'"},
      {"h-4w5c2_k3x2_oc3", "found 'h-4w5c2'"},
      {"h4w-5c2_k3x2_oc3", "position 3: expected a number, found '-5c2'"},
      {"h+4w5c2_k3x2_oc3", "found 'h+4w5c2'"},
      {"h4w5c2_k3x2_oc 3", "found 'oc 3'"},
      {"h4w5c2_k3x2.5_oc3", "position 11: expected '_', found '.5'"},
      {"h4w5c2_k3x2_oc3 ", "position 15: expected '_'"},
      {"h4w5c2_k3x2_oc3_", "position 16: the part '' is unknown"},
      {"h4w5c2_k3x2_oc3__s1x1", "position 16: the part '' is unknown"},
      {"h4w5c2_k3x2_oc3_s1", "position 18: expected 'x'"},
      {"h4w5c2_k3x2_oc3_s1x1x1", "position 20: expected '_', found 'x1'"},
      {"h4w5c2_k3x2_oc3_p1", "position 18: expected ','"},
      {"h4w5c2_k3x2_oc3_p1,1,1,1,1", "position 24: expected '_', found ',1'"},
      {"h4w5c2_k3x2_oc3_pfull", "position 16: the part 'pfull' is unknown"},
      {"h4w5c2_k3x2_oc3_psame_p1,1,0,1", "position 22: the part 'p1,1,0,1' is unknown, repeated"},
      {"h4w5c2_k3x2_oc3_s1x1_s1x1", "position 21: the part 's1x1' is unknown, repeated"},
      {"h4w5c2_k3x2_oc3_d1x1_s1x1", "position 21: the part 's1x1' is unknown, repeated or out of"},
      {"h4w5c2_k3x2_oc3_f32_nhwc", "position 20: the part 'nhwc'"},
      {"h4w5c2_k3x2_oc3_f32_f32", "position 20: the part 'f32'"},
      {"h4w5c2_k3x2_oc3_f32x", "position 16: the part 'f32x'"},
      {"h4w5c2_k3x2_oc3_F32", "position 16: the part 'F32'"},
      {"h4w5c2_k3x2_oc3_n1", "position 16: the part 'n1'"},
      {"h4w5c2_k3x2_oc3_\n", "the part '?' is unknown"},
      {"h9223372036854775808w5c2_k3x2_oc3", "position 1: the number in '9223372036854775808w5c2'"},
      // Read without fault, but not a legal problem: MakeProblem's checks all hold.
      {"h4w5c2_k3x2_oc3_g0", "g0"},
      {"h4w5c2_k3x2_oc3_g3", "c2 must be a multiple of g3"},
      {"h4w5c4_k3x2_oc3_g2", "groups 2"},
      {"h4w5c0_k3x2_oc3_g2", "c0 goes with g1"},
      {"h4w5c2_k3x2_oc3_s0x1", "strides"},
      {"h4w5c2_k3x2_oc3_d1x0", "dilations"},
      {"h1w5c2_k3x2_oc3", "give -1"},
      {"h9223372036854775807w5c2_k3x2_oc3", "input_sizes is too large"},
      {"h4w5c2_k3x2_oc3_p9223372036854775807,9223372036854775807,0,0", "64-bit"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    Problem problem;
    problem.batch = 77;
    const Problem before = problem;
    const Status status = ParseProblem(refusal.text, &problem);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(refusal.words), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("problem string"), std::string::npos) << status.message();
    EXPECT_EQ(problem, before);
  }
}

TEST(ProblemStringTest, AZeroByteIsNotTheEnd) {
  Problem problem;
  EXPECT_FALSE(ParseProblem(std::string_view("h4w5c2_k3x2_oc3\0_s1x1", 21), &problem).ok());
}

TEST(ProblemStringTest, AHugeTextGivesAShortMessage) {
  Problem problem;
  const Status status = ParseProblem(std::string(1000000, 'z'), &problem);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_LT(status.message().size(), 1000u);
}

TEST(ProblemStringTest, RandomProblemsComeBack) {
  constexpr uint32_t kSeed = 4711;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto pick = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int made = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool nchw = pick(0, 1) == 1;
    const auto order = [nchw](int64_t n, int64_t h, int64_t w, int64_t c) {
      return nchw ? std::vector<int64_t>{n, c, h, w} : std::vector<int64_t>{n, h, w, c};
    };
    const int64_t groups = pick(1, 3);
    const int64_t depth = pick(1, 3);
    const auto input_sizes = order(pick(0, 3), pick(0, 9), pick(0, 9), groups * depth);
    const std::vector<int64_t> filter_shape = {pick(0, 4), pick(0, 4), depth, groups * pick(0, 3)};
    const auto strides = order(1, pick(1, 5), pick(1, 5), 1);
    const auto dilations = order(1, pick(1, 3), pick(1, 3), 1);
    const auto before = order(0, pick(0, 5), pick(0, 5), 0);
    const auto after = order(0, pick(0, 5), pick(0, 5), 0);
    std::vector<int64_t> paddings;
    for (size_t j = 0; j < 4; ++j) {
      paddings.push_back(before[j]);
      paddings.push_back(after[j]);
    }
    Arguments arguments;
    arguments.input_sizes = input_sizes;
    arguments.filter_shape = filter_shape;
    arguments.strides = strides;
    arguments.dilations = dilations;
    arguments.padding = static_cast<Padding>(pick(0, 2));
    if (arguments.padding == Padding::kExplicit) arguments.explicit_paddings = paddings;
    arguments.layout = nchw ? Layout::kNchw : Layout::kNhwc;
    arguments.dtype = static_cast<DType>(pick(1, 5));
    Problem problem;
    if (!MakeProblem(arguments, &problem).ok()) continue;  // the filter is larger than the input
    ++made;
    const std::string text = ToString(problem);
    Problem again;
    const Status status = ParseProblem(text, &again);
    ASSERT_TRUE(status.ok()) << text << ": " << status.message();
    ASSERT_EQ(again, problem) << text;
    ASSERT_EQ(ToString(again), text);
  }
  EXPECT_GT(made, 10000);
}

}  // namespace
}  // namespace dgrad
