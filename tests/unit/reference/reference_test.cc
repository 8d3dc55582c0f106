#include "src/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/half.h"
#include "src/problem/problem_string.h"

namespace dgrad {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Problem Parse(const std::string& text) {
  Problem problem;
  const Status status = ParseProblem(text, &problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

template <typename T>
std::vector<T> Compute(const Problem& problem, const std::vector<T>& filter,
                       const std::vector<T>& out_backprop) {
  EXPECT_EQ(static_cast<int64_t>(filter.size()), problem.filter_elements());
  EXPECT_EQ(static_cast<int64_t>(out_backprop.size()), problem.out_backprop_elements());
  std::vector<T> result(static_cast<size_t>(problem.in_backprop_elements()));
  if (!result.empty()) {
    std::memset(static_cast<void*>(result.data()), 0xff, result.size() * sizeof(T));  // NaN
  }
  Reference(problem, filter.data(), out_backprop.data(), result.data());
  return result;
}

using Floats = std::vector<float>;

Floats Counting(int64_t count) {
  Floats values;
  for (int64_t i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

// The definition in its other form: each product is added where it lands.
template <typename Value, typename Sum>
std::vector<Sum> Scatter(const Problem& p, const std::vector<Value>& filter,
                         const std::vector<Value>& out_backprop) {
  const bool nhwc = p.layout == Layout::kNhwc;
  const auto index = [nhwc](int64_t n, int64_t h, int64_t w, int64_t c, int64_t height,
                            int64_t width, int64_t channels) {
    return static_cast<size_t>(nhwc ? ((n * height + h) * width + w) * channels + c
                                    : ((n * channels + c) * height + h) * width + w);
  };
  std::vector<Sum> result(static_cast<size_t>(p.in_backprop_elements()));
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t oh = 0; oh < p.rows.out; ++oh)
      for (int64_t ow = 0; ow < p.columns.out; ++ow)
        for (int64_t oc = 0; oc < p.out_channels; ++oc)
          for (int64_t kh = 0; kh < p.rows.taps; ++kh)
            for (int64_t kw = 0; kw < p.columns.taps; ++kw)
              for (int64_t c = 0; c < p.group_in_channels(); ++c) {
                const int64_t h = oh * p.rows.stride + kh * p.rows.dilation - p.rows.pad_before;
                const int64_t w =
                    ow * p.columns.stride + kw * p.columns.dilation - p.columns.pad_before;
                if (h < 0 || h >= p.rows.in || w < 0 || w >= p.columns.in) continue;
                const int64_t group = oc / p.group_out_channels();
                const auto f = static_cast<size_t>(
                    ((kh * p.columns.taps + kw) * p.group_in_channels() + c) * p.out_channels + oc);
                const size_t from = index(n, oh, ow, oc, p.rows.out, p.columns.out, p.out_channels);
                const size_t to = index(n, h, w, group * p.group_in_channels() + c, p.rows.in,
                                        p.columns.in, p.in_channels);
                result[to] += static_cast<Sum>(filter[f]) * static_cast<Sum>(out_backprop[from]);
              }
  return result;
}

TEST(ReferenceTest, OneRow) {
  // filter 1 2 3, out_backprop 1 10: 1 2 3 . + . 10 20 30
  EXPECT_EQ(Compute<float>(Parse("h1w4c1_k1x3_oc1"), {1, 2, 3}, {1, 10}), (Floats{1, 12, 23, 30}));
  // The same with one zero column on each side: the outer two fall away.
  EXPECT_EQ(Compute<float>(Parse("h1w2c1_k1x3_oc1_p0,0,1,1"), {1, 2, 3}, {1, 10}),
            (Floats{12, 23}));
  // Stride 2: 1 2 3 . . + . . 10 20 30
  EXPECT_EQ(Compute<float>(Parse("h1w5c1_k1x3_oc1_s1x2"), {1, 2, 3}, {1, 10}),
            (Floats{1, 2, 13, 20, 30}));
  // Dilation 2: 1 . 2 . 3 . + . 10 . 20 . 30
  EXPECT_EQ(Compute<float>(Parse("h1w6c1_k1x3_oc1_d1x2"), {1, 2, 3}, {1, 10}),
            (Floats{1, 10, 2, 20, 3, 30}));
  // Stride 3 beyond the filter leaves gaps, and VALID a tail.
  EXPECT_EQ(Compute<float>(Parse("h1w7c1_k1x2_oc1_s1x3"), {1, 2}, {1, 10}),
            (Floats{1, 2, 0, 10, 20, 0, 0}));
  // Stride 2 and dilation 3: 1 . . 2 . . + . . 10 . . 20
  EXPECT_EQ(Compute<float>(Parse("h1w6c1_k1x2_oc1_s1x2_d1x3"), {1, 2}, {1, 10}),
            (Floats{1, 0, 10, 2, 0, 20}));
}

TEST(ReferenceTest, RowsAndColumnsAreNotMixedUp) {
  // filter [[1, 2], [3, 4]], out_backprop 1 x 2 of [1, 10].
  EXPECT_EQ(Compute<float>(Parse("h2w3c1_k2x2_oc1"), {1, 2, 3, 4}, {1, 10}),
            (Floats{1, 12, 20, 3, 34, 40}));
  // Rows alone padded and strided.
  EXPECT_EQ(Compute<float>(Parse("h3w1c1_k2x1_oc1_s2x1_p1,0,0,0"), {1, 2}, {1, 10}),
            (Floats{2, 10, 20}));
}

TEST(ReferenceTest, ChannelsGroupsAndBothLayouts) {
  // filter[0, 0, c, oc] = [[1, 2], [3, 4]]: in_backprop[c] = sum over oc.
  EXPECT_EQ(Compute<float>(Parse("h1w2c2_k1x1_oc2"), {1, 2, 3, 4}, {1, 10, 100, 1000}),
            (Floats{21, 43, 2100, 4300}));
  // NCHW: out_backprop is two planes of two pixels, so pixel 0 is (1, 100), pixel 1 (10, 1000).
  EXPECT_EQ(Compute<float>(Parse("h1w2c2_k1x1_oc2_nchw"), {1, 2, 3, 4}, {1, 10, 100, 1000}),
            (Floats{201, 2010, 403, 4030}));
  // 2 groups of 2 in and 1 out channel: filter[0, 0, c, oc] = [[1, 2], [3, 4]].
  EXPECT_EQ(Compute<float>(Parse("h1w1c4_k1x1_oc2_g2"), {1, 2, 3, 4}, {1, 10}),
            (Floats{1, 3, 20, 40}));
  // Depthwise with multiplier 2: out channels 0, 1 belong to channel 0.
  EXPECT_EQ(Compute<float>(Parse("h1w1c2_k1x1_oc4_g2"), {1, 2, 3, 4}, {1, 10, 100, 1000}),
            (Floats{21, 4300}));
}

TEST(ReferenceTest, BatchesStandApart) {
  EXPECT_EQ(Compute<float>(Parse("n2_h1w2c1_k1x2_oc1"), {1, 2}, {1, 10}), (Floats{1, 2, 10, 20}));
}

TEST(ReferenceTest, EmptySumsArePlusZero) {
  for (const char* text : {"h2w3c2_k3x2_oc3",     // no out rows
                           "h2w3c2_k2x2_oc0",     // no out channels
                           "h2w3c4_k2x2_oc0_g2",  // nor in groups
                           "h2w3c2_k0x2_oc3",     // no filter rows
                           "h2w3c2_k0x0_oc3_psame"}) {
    SCOPED_TRACE(text);
    const Problem problem = Parse(text);
    const Floats result = Compute(problem, Counting(problem.filter_elements()),
                                  Counting(problem.out_backprop_elements()));
    EXPECT_FALSE(result.empty());
    for (const float value : result) {
      EXPECT_EQ(value, 0.0f);
      EXPECT_FALSE(std::signbit(value));
    }
  }
  EXPECT_TRUE(Compute<float>(Parse("n0_h2w2c1_k1x1_oc1"), {1}, {}).empty());
  // Huge sizes beside a 0 take no time.
  const Problem huge = Parse("h1w1c1_k1000000000x1000000000_oc0_psame");
  EXPECT_EQ(Compute<float>(huge, {}, {}), (Floats{0}));
}

TEST(ReferenceTest, HugeStridesPadsAndDilationsTakeNoTime) {
  EXPECT_EQ(Compute<float>(Parse("h2w1c1_k2x1_oc1_s2147483647x1_p0,0,0,0"), {2, 3}, {5}),
            (Floats{10, 15}));
  EXPECT_EQ(Compute<float>(Parse("h1w1c1_k1x1_oc1_s2147483647x1_p2147483647,2147483647,0,0"), {2},
                           {1, 3, 9}),
            (Floats{6}));
  EXPECT_EQ(Compute<float>(Parse("h1w1c1_k3x1_oc1_p2000000000,2000000000,0,0_d2000000000x1"),
                           {2, 3, 4}, {7}),
            (Floats{21}));
}

TEST(ReferenceTest, OnlyRealProductsCount) {
  // NaN in the filter does not reach gaps and tails.
  const Floats gaps = Compute<float>(Parse("h1w7c1_k1x2_oc1_s1x3"), {kNan, kNan}, {1, 0});
  const bool reached[] = {true, true, false, true, true, false, false};
  for (size_t i = 0; i < gaps.size(); ++i) {
    EXPECT_EQ(std::isnan(gaps[i]), reached[i]) << i;
    if (!reached[i]) {
      EXPECT_EQ(gaps[i], 0.0f) << i;
    }
  }
  // Nor dilation holes; nor does a clipped tap leak.
  EXPECT_EQ(Compute<float>(Parse("h1w3c1_k1x2_oc1_d1x2"), {1, kNan}, {1})[1], 0.0f);
  EXPECT_EQ(Compute<float>(Parse("h1w1c1_k1x2_oc1_p0,0,1,0"), {kNan, 2}, {5}), (Floats{10}));
  // Zeros are multiplied like any other number.
  EXPECT_TRUE(std::isnan(Compute<float>(Parse("h1w1c1_k1x1_oc1"), {kInf}, {0})[0]));
  EXPECT_TRUE(std::isnan(Compute<float>(Parse("h1w1c1_k1x1_oc1"), {0}, {kNan})[0]));
  EXPECT_TRUE(std::isnan(Compute<float>(Parse("h1w1c1_k1x1_oc2"), {1, 1}, {kInf, -kInf})[0]));
  EXPECT_EQ(Compute<float>(Parse("h1w1c1_k1x1_oc2"), {1, 2}, {-kInf, 3})[0], -kInf);
  // The sum starts at +0.
  const float zero = Compute<float>(Parse("h1w1c1_k1x1_oc1"), {1}, {-0.0f})[0];
  EXPECT_EQ(zero, 0.0f);
  EXPECT_FALSE(std::signbit(zero));
}

TEST(ReferenceTest, Int32IsExactModulo2To32) {
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(Compute<int32_t>(Parse("h1w1c1_k1x1_oc2_i32"), {2147483647, 1}, {1, 1}),
            (Ints{-2147483647 - 1}));
  EXPECT_EQ(Compute<int32_t>(Parse("h1w1c1_k1x1_oc1_i32"), {65537}, {65537}), (Ints{131073}));
  EXPECT_EQ(Compute<int32_t>(Parse("h1w1c1_k1x1_oc1_i32"), {-2147483647 - 1}, {-1}),
            (Ints{-2147483647 - 1}));
  EXPECT_EQ(Compute<int32_t>(Parse("h1w1c1_k1x1_oc2_i32"), {-3, 5}, {7, -11}), (Ints{-76}));
}

TEST(ReferenceTest, HalfTypesRoundOnceAtTheEnd) {
  const auto f16 = [](float value) { return ToFloat16(value); };
  const auto bf16 = [](float value) { return ToBFloat16(value); };
  // 4096 ones: rounding after each term would stop at 2048 or 256.
  const std::vector<Float16> ones16(4096, f16(1));
  EXPECT_EQ(ToFloat(Compute(Parse("h1w1c1_k1x1_oc4096_f16"), ones16, ones16)[0]), 4096.0f);
  const std::vector<BFloat16> ones_b(4096, bf16(1));
  EXPECT_EQ(ToFloat(Compute(Parse("h1w1c1_k1x1_oc4096_bf16"), ones_b, ones_b)[0]), 4096.0f);
  // Sums may pass the type's range on the way, and overflow to Inf in the end.
  const std::vector<Float16> large = {f16(60000), f16(60000), f16(-60000)};
  const std::vector<Float16> one = {f16(1), f16(1), f16(1)};
  EXPECT_EQ(ToFloat(Compute(Parse("h1w1c1_k1x1_oc3_f16"), large, one)[0]), 60000.0f);
  EXPECT_EQ(ToFloat(Compute<Float16>(Parse("h1w1c1_k1x1_oc1_f16"), {f16(60000)}, {f16(-2)})[0]),
            -kInf);
  // 1 + 2^-11 + 2^-22 is above the middle of two neighbours.
  EXPECT_EQ(Compute<Float16>(Parse("h1w1c1_k1x1_oc3_f16"), {f16(1), f16(0x1p-11f), f16(0x1p-11f)},
                             {f16(1), f16(1), f16(0x1p-11f)})[0]
                .bits,
            0x3c01);
}

TEST(ReferenceTest, FloatSumsInDouble) {
  EXPECT_EQ(Compute<float>(Parse("h1w1c1_k1x1_oc3"), {0x1p25f, 1, -0x1p25f}, {1, 1, 1})[0], 1.0f);
}

// Random small problems of every kind, small integers: sums are exact in every type, so the gather
// form of the reference must equal the scatter form.
template <typename T>
class ReferenceTypeTest : public testing::Test {};

template <typename T>
T FromInt(int64_t value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <typename T>
bool SameBits(T a, T b) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return a.bits == b.bits;
  } else {
    return a == b;
  }
}
template <typename T>
constexpr DType kDType = std::is_same_v<T, Float16>    ? DType::kF16
                         : std::is_same_v<T, BFloat16> ? DType::kBF16
                         : std::is_same_v<T, float>    ? DType::kF32
                         : std::is_same_v<T, double>   ? DType::kF64
                                                       : DType::kI32;

using Types = testing::Types<Float16, BFloat16, float, double, int32_t>;
TYPED_TEST_SUITE(ReferenceTypeTest, Types);

TYPED_TEST(ReferenceTypeTest, GatherEqualsScatter) {
  constexpr uint32_t kSeed = 1234;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto pick = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto number = [&pick](int64_t low, int64_t high) {
    return std::to_string(pick(low, high));
  };
  int made = 0;
  for (int i = 0; i < 600; ++i) {
    const int64_t groups = pick(1, 3);
    std::string text = "n" + number(0, 2) + "_h" + number(0, 9) + "w" + number(1, 9) + "c" +
                       std::to_string(groups * pick(1, 3)) + "_k" + number(0, 4) + "x" +
                       number(1, 4) + "_oc" + std::to_string(groups * pick(0, 3)) + "_s" +
                       number(1, 4) + "x" + number(1, 4) + "_p";
    if (pick(0, 2) == 0) {
      text += "same";
    } else {
      text += number(0, 5) + "," + number(0, 5) + "," + number(0, 5) + "," + number(0, 5);
    }
    text += "_d" + number(1, 3) + "x" + number(1, 3) + "_g" + std::to_string(groups);
    text += pick(0, 1) == 0 ? "_nhwc_" : "_nchw_";
    text += Name(kDType<TypeParam>);
    Problem problem;
    if (!ParseProblem(text, &problem).ok()) continue;  // the filter is larger than the input
    ++made;

    std::vector<int64_t> filter, out_backprop;
    std::vector<TypeParam> typed_filter, typed_out_backprop;
    for (int64_t j = 0; j < problem.filter_elements(); ++j) {
      filter.push_back(pick(-8, 8));
      typed_filter.push_back(FromInt<TypeParam>(filter.back()));
    }
    for (int64_t j = 0; j < problem.out_backprop_elements(); ++j) {
      out_backprop.push_back(pick(-8, 8));
      typed_out_backprop.push_back(FromInt<TypeParam>(out_backprop.back()));
    }
    const std::vector<TypeParam> result = Compute(problem, typed_filter, typed_out_backprop);
    const auto expected = Scatter<int64_t, int64_t>(problem, filter, out_backprop);
    for (size_t j = 0; j < result.size(); ++j) {
      ASSERT_TRUE(SameBits(result[j], FromInt<TypeParam>(expected[j]))) << text << " at " << j;
    }

    if constexpr (!std::is_same_v<TypeParam, int32_t>) {
      for (int64_t& value : filter) value = std::abs(value);
      for (int64_t& value : out_backprop) value = std::abs(value);
      const auto scale = Scatter<int64_t, double>(problem, filter, out_backprop);
      std::vector<double> got(scale.size(), kNan);
      ReferenceScale(problem, typed_filter.data(), typed_out_backprop.data(), got.data());
      ASSERT_EQ(got, scale) << text;
    }
  }
  EXPECT_GT(made, 300);
}

TEST(ReferenceTest, ScaleOfNegativeNumbers) {
  const Floats filter = {-1, 2, -3};
  const Floats out_backprop = {-1, 10};
  std::vector<double> scale(4, -1);
  ReferenceScale(Parse("h1w4c1_k1x3_oc1"), filter.data(), out_backprop.data(), scale.data());
  EXPECT_EQ(scale, (std::vector<double>{1, 12, 23, 30}));
}

}  // namespace
}  // namespace dgrad
