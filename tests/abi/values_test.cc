// Every way to run, on all types and both layouts, against the reference: exact on small integers.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <dgrad/dgrad.hpp>
#include <span>
#include <string>
#include <vector>

#include "tests/abi/support.h"

namespace dgrad_test {
namespace {

using dgrad::Dtype;

template <typename T>
const char* Suffix() {
  constexpr Dtype dtype = dgrad::dtype_of<T>;
  return dtype == Dtype::kFloat16    ? "_f16"
         : dtype == Dtype::kBFloat16 ? "_bf16"
         : dtype == Dtype::kFloat32  ? "_f32"
         : dtype == Dtype::kFloat64  ? "_f64"
                                     : "_i32";
}

constexpr const char* kShapes[] = {
    "n1_h1w1c1_k1x1_oc1",
    "n2_h5w4c3_k3x3_oc5_psame",
    "n2_h7w6c4_k3x2_oc6_s2x3_psame",
    "n1_h8w9c2_k3x3_oc4_p0,1,2,1_d2x2",
    "n2_h6w6c4_k3x3_oc8_psame_g2",
    "n1_h5w5c6_k3x3_oc12_s2x2_psame_g6",
    "n1_h8w6c3_k2x2_oc4_s2x2",
    "n1_h9w3c17_k1x1_oc33_s3x2",
    "n1_h14w15c20_k3x3_oc35_pvalid",
    "n1_h16w16c16_k3x3_oc16_psame",
    "n1_h12w10c3_k4x4_oc8_s2x2_p1,1,1,1",
    // Nothing to sum, nothing to write.
    "n1_h4w4c2_k3x3_oc0",
    "n0_h4w4c2_k3x3_oc3",
    "n2_h0w3c2_k1x1_oc3_psame",
};

std::vector<std::string> AllProblems(const char* suffix) {
  std::vector<std::string> texts;
  for (const char* shape : kShapes) {
    for (const char* layout : {"_nhwc", "_nchw"})
      texts.push_back(std::string(shape) + layout + suffix);
  }
  return texts;
}

// What the one-shot call takes, from what the problem resolved.
dgrad::Arguments ArgumentsOf(const dgrad::Problem& problem) {
  const dgrad_problem_info& info = problem.info();
  const bool nchw = problem.data_format() == dgrad::DataFormat::kNchw;
  const auto in_order = [&](std::int64_t rows, std::int64_t columns) {
    return nchw ? dgrad::Sizes{1, 1, rows, columns} : dgrad::Sizes{1, rows, columns, 1};
  };
  const std::int64_t* p = info.paddings;
  dgrad::Arguments arguments;
  arguments.input_sizes = problem.in_backprop_shape();
  arguments.filter_shape = problem.filter_shape();
  arguments.out_backprop_shape = problem.out_backprop_shape();
  arguments.strides = in_order(info.strides[0], info.strides[1]);
  arguments.dilations = in_order(info.dilations[0], info.dilations[1]);
  arguments.padding = dgrad::Padding::kExplicit;
  arguments.explicit_paddings = nchw ? dgrad::Sizes{0, 0, 0, 0, p[0], p[1], p[2], p[3]}
                                     : dgrad::Sizes{0, 0, p[0], p[1], p[2], p[3], 0, 0};
  arguments.data_format = problem.data_format();
  return arguments;
}

template <typename T>
struct Data {
  explicit Data(const dgrad::Problem& problem)
      : filter(SmallIntegers<T>(problem.info().filter_bytes / sizeof(T), 1)),
        out_backprop(SmallIntegers<T>(problem.info().out_backprop_bytes / sizeof(T), 2)),
        expected(problem.info().in_backprop_bytes / sizeof(T)) {
    std::ranges::fill(std::as_writable_bytes(std::span(expected)), std::byte{0xFF});
    dgrad::reference(problem, filter, out_backprop, expected);
  }

  std::vector<T> filter;
  std::vector<T> out_backprop;
  std::vector<T> expected;
};

template <typename T>
class Values : public testing::Test {};
using Types = testing::Types<dgrad::Float16, dgrad::BFloat16, float, double, std::int32_t>;
TYPED_TEST_SUITE(Values, Types);

TYPED_TEST(Values, PlansMatchTheReference) {
  for (const std::string& text : AllProblems(Suffix<TypeParam>())) {
    SCOPED_TRACE(text);
    const dgrad::Problem problem(text);
    const Data<TypeParam> data(problem);
    const dgrad::Plan plan(problem, {.threads = 2, .accuracy = dgrad::Accuracy::kStrict});
    Guarded<TypeParam> result(data.expected.size());
    plan.run(data.filter, data.out_backprop, result.tensor());
    EXPECT_TRUE(SameTensor<TypeParam>(result.tensor(), data.expected)) << plan.explain();
    EXPECT_TRUE(result.GuardsIntact()) << plan.explain();
  }
}

TYPED_TEST(Values, PackedFiltersAndGivenMemoryMatchTheReference) {
  for (const std::string& text : AllProblems(Suffix<TypeParam>())) {
    SCOPED_TRACE(text);
    const dgrad::Problem problem(text);
    const Data<TypeParam> data(problem);
    const dgrad::Plan plan(
        problem, {.threads = 2, .accuracy = dgrad::Accuracy::kStrict, .filter_packed = true});
    // Odd addresses, no byte more than asked for.
    Guarded<char> storage(plan.packed_filter_bytes() + 1);
    Guarded<char> workspace(plan.workspace_bytes() + 1);
    const dgrad::PackedFilter own(plan, data.filter);
    const dgrad::PackedFilter given(plan, data.filter,
                                    std::as_writable_bytes(storage.tensor().subspan(1)));
    for (const dgrad::PackedFilter* packed : {&own, &given}) {
      Guarded<TypeParam> result(data.expected.size());
      plan.run(*packed, data.out_backprop, result.tensor(),
               {.workspace = std::as_writable_bytes(workspace.tensor().subspan(1))});
      EXPECT_TRUE(SameTensor<TypeParam>(result.tensor(), data.expected)) << plan.explain();
      EXPECT_TRUE(result.GuardsIntact()) << plan.explain();
    }
    EXPECT_TRUE(storage.GuardsIntact()) << plan.explain();
    EXPECT_TRUE(workspace.GuardsIntact()) << plan.explain();
  }
}

TYPED_TEST(Values, OneCallMatchesTheReference) {
  for (const std::string& text : AllProblems(Suffix<TypeParam>())) {
    SCOPED_TRACE(text);
    const dgrad::Problem problem(text);
    const Data<TypeParam> data(problem);
    const std::vector<TypeParam> result = dgrad::conv2d_backprop_input<TypeParam>(
        ArgumentsOf(problem), data.filter, data.out_backprop,
        {.threads = 1, .accuracy = dgrad::Accuracy::kStrict});
    EXPECT_TRUE(SameTensor<TypeParam>(result, data.expected));
  }
}

TYPED_TEST(Values, EveryAlgorithmThatAcceptsMatchesTheReference) {
  for (const char* shape : {"n2_h9w8c5_k3x3_oc6_s2x2_psame", "n1_h10w10c4_k3x3_oc4_psame"}) {
    const dgrad::Problem problem(shape + std::string(Suffix<TypeParam>()));
    const Data<TypeParam> data(problem);
    int accepted = 0;
    for (const std::string& algorithm : dgrad::algorithms()) {
      SCOPED_TRACE(problem.to_string() + " " + algorithm);
      const dgrad::PlanOptions options = {.accuracy = dgrad::Accuracy::kStrict,
                                          .algorithm = algorithm};
      const std::string reason = dgrad::refusal(problem, algorithm, options);
      if (!reason.empty()) {
        EXPECT_THROW(dgrad::Plan(problem, options), dgrad::InvalidArgumentError) << reason;
        continue;
      }
      ++accepted;
      const dgrad::Plan plan(problem, options);
      EXPECT_EQ(plan.algorithm(), algorithm);
      Guarded<TypeParam> result(data.expected.size());
      plan.run(data.filter, data.out_backprop, result.tensor());
      EXPECT_TRUE(SameTensor<TypeParam>(result.tensor(), data.expected));
    }
    EXPECT_GT(accepted, 0);
  }
}

// The default tier may use algorithms that round on the way: a bound on the norm instead of bits.
TEST(FastValues, AreCloseToTheReference) {
  for (const std::string& text : AllProblems("_f32")) {
    SCOPED_TRACE(text);
    const dgrad::Problem problem(text);
    const Data<float> data(problem);
    const dgrad::Plan plan(problem);
    Guarded<float> result(data.expected.size());
    plan.run(data.filter, data.out_backprop, result.tensor());
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < data.expected.size(); ++i) {
      const double error = static_cast<double>(result.tensor()[i]) - data.expected[i];
      difference += error * error;
      norm += static_cast<double>(data.expected[i]) * data.expected[i];
    }
    // Not "greater than the bound", which NaN would pass.
    EXPECT_TRUE(std::sqrt(difference) <= 1e-5 * std::sqrt(norm)) << plan.explain();
    EXPECT_TRUE(result.GuardsIntact()) << plan.explain();
  }
}

TEST(IntegerValues, WrapModuloTwoToThe32) {
  // One row and column of out_backprop, two channels: 2^16 * 2^16 + 3 * (-5).
  const std::vector<std::int32_t> filter = {65536, 3};
  const std::vector<std::int32_t> out_backprop = {65536, -5};
  const auto result = dgrad::conv2d_backprop_input<std::int32_t>(
      {.input_sizes = {1, 1, 1, 1}, .filter_shape = {1, 1, 1, 2}}, filter, out_backprop);
  EXPECT_EQ(result, std::vector<std::int32_t>{-15});
}

TEST(Values16, RoundOnceToNearestEven) {
  // 2048 + 1 lies halfway between two float16 numbers; 256 + 1 between two of bfloat16.
  const auto half = dgrad::conv2d_backprop_input<dgrad::Float16>(
      {.input_sizes = {1, 1, 1, 1}, .filter_shape = {1, 1, 1, 3}},
      std::vector{FromInt<dgrad::Float16>(2048), FromInt<dgrad::Float16>(1),
                  FromInt<dgrad::Float16>(1)},
      std::vector(3, FromInt<dgrad::Float16>(1)));
  EXPECT_EQ(half[0].bits, FromInt<dgrad::Float16>(2050).bits);
  const auto bfloat = dgrad::conv2d_backprop_input<dgrad::BFloat16>(
      {.input_sizes = {1, 1, 1, 1}, .filter_shape = {1, 1, 1, 2}},
      std::vector{FromInt<dgrad::BFloat16>(256), FromInt<dgrad::BFloat16>(1)},
      std::vector(2, FromInt<dgrad::BFloat16>(1)));
  EXPECT_EQ(bfloat[0].bits, FromInt<dgrad::BFloat16>(256).bits);
}

}  // namespace
}  // namespace dgrad_test
