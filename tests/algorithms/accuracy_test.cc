// The figures of docs/numerics.md: per element |error| <= c * 2^-24 * S, and the relative L2 error
// of sums of about 3x3x512 terms, for every algorithm that serves a problem, in both tiers, on
// every instruction set. Prints what it measures; errors depend on data, seeds and order of
// summation alone, never on the machine's speed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "src/problem/problem_string.h"
#include "src/reference/reference.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

// What docs/numerics.md promises: c for data of both signs and for data of one sign, whose errors
// have one direction and add up. `transforms`: S is the largest of the pixels that a tile mixes.
struct Promise {
  const char* algorithm;
  double both_signs;
  double one_sign;
  bool transforms;
};
constexpr Promise kPromises[] = {
    {"direct", 8, 32, false},   {"dot", 8, 32, false},  {"grouped", 8, 32, false},
    {"pixels", 8, 32, false},   {"taps", 8, 32, false}, {"small_groups", 8, 32, false},
    {"winograd", 12, 32, true},
};
constexpr double kStrictL2 = 4e-7;
constexpr double kFastL2 = 2.4e-6;

enum class Data { kNormal, kPositive };

const Promise* PromiseOf(const std::string& algorithm) {
  for (const Promise& promise : kPromises) {
    if (algorithm == promise.algorithm) return &promise;
  }
  return nullptr;
}

// Uniform in (0, 1]; never 0, so that its logarithm exists.
double Uniform(uint64_t seed, uint64_t i) {
  return (static_cast<double>(Random(seed, i) >> 11) + 1) * 0x1p-53;
}

void FillWith(Data data, uint64_t seed, Tensor* tensor) {
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    const auto k = static_cast<uint64_t>(i);
    tensor->Set(i, data == Data::kPositive
                       ? Uniform(seed, k)
                       : std::sqrt(-2 * std::log(Uniform(seed, 2 * k))) *
                             std::cos(2 * std::numbers::pi * Uniform(seed, 2 * k + 1)));
  }
}

Tensor Widened(const Tensor& from) {
  Tensor to(DType::kF64, from.elements());
  for (int64_t i = 0; i < from.elements(); ++i) to.Set(i, from.At(i));
  return to;
}

// Sums every element in Accumulator, tap after tap; problem and tensors in NHWC.
template <typename Element, typename Accumulator>
Tensor Sequential(const Problem& p, const Tensor& filter, const Tensor& out_backprop) {
  Tensor result(p.dtype, p.in_backprop_elements());
  const auto* const filters = static_cast<const Element*>(filter.data());
  const auto* const source = static_cast<const Element*>(out_backprop.data());
  auto* to = static_cast<Element*>(result.data());
  const int64_t terms = p.group_out_channels();
  // The index of out_backprop from which the tap lands on `in`, or -1.
  const auto from = [](const Axis& axis, int64_t in, int64_t tap) {
    const int64_t distance = in + axis.pad_before - tap * axis.dilation;
    if (distance < 0 || distance % axis.stride != 0) return int64_t{-1};
    return distance / axis.stride < axis.out ? distance / axis.stride : int64_t{-1};
  };
  for (int64_t pixel = 0; pixel < p.batch * p.rows.in * p.columns.in; ++pixel) {
    const int64_t w = pixel % p.columns.in;
    const int64_t h = pixel / p.columns.in % p.rows.in;
    const int64_t n = pixel / p.columns.in / p.rows.in;
    for (int64_t c = 0; c < p.in_channels; ++c) {
      const int64_t group = c / p.group_in_channels();
      Accumulator sum = 0;
      for (int64_t tap = 0; tap < p.rows.taps * p.columns.taps; ++tap) {
        const int64_t oh = from(p.rows, h, tap / p.columns.taps);
        const int64_t ow = from(p.columns, w, tap % p.columns.taps);
        if (oh < 0 || ow < 0) continue;
        const Element* const a =
            source + ((n * p.rows.out + oh) * p.columns.out + ow) * p.out_channels + group * terms;
        const Element* const b =
            filters + (tap * p.group_in_channels() + c % p.group_in_channels()) * p.out_channels +
            group * terms;
        for (int64_t k = 0; k < terms; ++k) sum += static_cast<Accumulator>(a[k]) * b[k];
      }
      *to++ = static_cast<Element>(sum);
    }
  }
  return result;
}

// A problem with its data, the exact sums (in double, not rounded to the type) and S.
struct Sample {
  Sample(const std::string& text, Data data)
      : problem(Parse(text)),
        filter(problem.dtype, problem.filter_elements()),
        out_backprop(problem.dtype, problem.out_backprop_elements()),
        exact(DType::kF64, problem.in_backprop_elements()),
        scale(static_cast<size_t>(problem.in_backprop_elements())) {
    FillWith(data, 11, &filter);
    FillWith(data, 12, &out_backprop);
    Problem wide = problem;
    wide.dtype = DType::kF64;
    const Tensor wide_filter = Widened(filter);
    const Tensor wide_out_backprop = Widened(out_backprop);
    if (problem.dtype == DType::kF64) {  // whose sums in double are no more exact than the result
      exact = Sequential<double, long double>(problem, filter, out_backprop);
    } else {
      Reference(wide, wide_filter.data(), wide_out_backprop.data(), exact.data());
    }
    ReferenceScale(wide, wide_filter.data(), wide_out_backprop.data(), scale.data());
  }

  Problem problem;
  Tensor filter, out_backprop, exact;
  std::vector<double> scale;
};

// The largest value among the `radius` neighbours on both sides of every element of a line.
void SpreadLine(double* line, int64_t length, int64_t step, int64_t radius) {
  const std::vector<double> before = [&] {
    std::vector<double> copy(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) copy[static_cast<size_t>(i)] = line[i * step];
    return copy;
  }();
  for (int64_t i = 0; i < length; ++i) {
    const auto begin = before.begin() + std::max<int64_t>(0, i - radius);
    const auto end = before.begin() + std::min(length, i + radius + 1);
    line[i * step] = *std::max_element(begin, end);
  }
}

// S over the pixels that a transformed tile may mix with each pixel: 8 steps of the dilation, or 4
// of the stride.
std::vector<double> TileScale(const Sample& sample) {
  const Problem& p = sample.problem;
  std::vector<double> scale = sample.scale;
  const auto radius = [](const Axis& axis) { return std::max(8 * axis.dilation, 4 * axis.stride); };
  const bool nhwc = p.layout == Layout::kNhwc;
  const int64_t pixel = nhwc ? p.in_channels : 1;
  const int64_t row = p.columns.in * pixel;
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t c = 0; c < p.in_channels; ++c) {
      double* const plane = scale.data() + n * p.rows.in * p.columns.in * p.in_channels +
                            c * (nhwc ? 1 : p.rows.in * p.columns.in);
      for (int64_t h = 0; h < p.rows.in; ++h) {
        SpreadLine(plane + h * row, p.columns.in, pixel, radius(p.columns));
      }
      for (int64_t w = 0; w < p.columns.in; ++w) {
        SpreadLine(plane + w * pixel, p.rows.in, row, radius(p.rows));
      }
    }
  }
  return scale;
}

Tensor Compute(const Sample& sample, const Plan& plan) {
  Tensor result(sample.problem.dtype, sample.problem.in_backprop_elements());
  result.Poison();
  Plan::Run run;
  run.filter = sample.filter.data();
  run.out_backprop = sample.out_backprop.data();
  run.in_backprop = result.data();
  const Status status = plan.Execute(run, DefaultPool(), {});
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

double RelativeL2(const Tensor& result, const Tensor& exact) {
  double error = 0;
  double norm = 0;
  for (int64_t i = 0; i < exact.elements(); ++i) {
    const double difference = result.At(i) - exact.At(i);
    error += difference * difference;
    norm += exact.At(i) * exact.At(i);
  }
  return std::sqrt(error / norm);
}

// The largest |error| / (2^-24 * S), for float64 2^-53, after the one rounding to a half type.
double LargestC(const Sample& sample, const std::vector<double>& scale, const Tensor& result) {
  const DType type = sample.problem.dtype;
  const double rounding = type == DType::kF16 ? 0x1p-11 : type == DType::kBF16 ? 0x1p-8 : 0;
  const double unit = type == DType::kF64 ? 0x1p-53 : 0x1p-24;
  double largest = 0;
  for (int64_t i = 0; i < result.elements(); ++i) {
    const double got = result.At(i);
    const double allowed = rounding * std::max(std::abs(got), std::abs(sample.exact.At(i)));
    const double error = std::max(0.0, std::abs(got - sample.exact.At(i)) - allowed);
    const double c = error / (unit * scale[static_cast<size_t>(i)] + 1e-300);
    if (!(c <= largest)) largest = c;  // NaN stays
  }
  return largest;
}

const char* Name(Accuracy tier) { return tier == Accuracy::kStrict ? "strict" : "fast"; }

// Calls check(algorithm, options, plan) for all algorithms that serve the problem, in both tiers,
// on all instruction sets.
template <typename Check>
void ForEachPlan(const Problem& problem, Check check) {
  for (const Accuracy tier : {Accuracy::kStrict, Accuracy::kFast}) {
    for (int i = 0; i < AlgorithmCount(); ++i) {
      for (const Isa isa : UsableIsas()) {
        PlanOptions options;
        options.accuracy = tier;
        options.isa = isa;
        std::string reason;
        ASSERT_TRUE(Refusal(problem, options, AlgorithmName(i), &reason).ok());
        if (!reason.empty()) continue;
        options.algorithm = AlgorithmName(i);
        SCOPED_TRACE(ToString(problem) + " " + options.algorithm + " " + Name(tier) + " " +
                     dgrad::Name(isa));
        std::shared_ptr<const Plan> plan;
        ASSERT_TRUE(Plan::Create(problem, options, &plan).ok());
        check(options, *plan);
      }
    }
  }
}

// Sums of 3x3x512 terms at 28x28, in shapes that together every algorithm serves; and of as many
// terms of more taps.
class AccuracyL2Test : public ::testing::TestWithParam<const char*> {};

TEST_P(AccuracyL2Test, StaysBelowThePromise) {
  const Sample sample(GetParam(), Data::kNormal);
  const double sequential = RelativeL2(
      Sequential<float, float>(sample.problem, sample.filter, sample.out_backprop), sample.exact);
  std::printf("%s: sequential float32 %.2e\n", GetParam(), sequential);
  ForEachPlan(sample.problem, [&](const PlanOptions& options, const Plan& plan) {
    const double error = RelativeL2(Compute(sample, plan), sample.exact);
    std::printf("  %-10s %-6s %-6s L2 %.2e\n", options.algorithm.c_str(), Name(options.accuracy),
                dgrad::Name(options.isa), error);
    if (options.accuracy == Accuracy::kStrict) {
      EXPECT_LE(error, kStrictL2);
    } else {
      EXPECT_LE(error, kFastL2);
      EXPECT_LE(error, 2 * sequential);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, AccuracyL2Test,
                         ::testing::Values("h28w28c32_k3x3_oc512_p1,1,1,1",
                                           "h28w28c4_k3x3_oc512_p1,1,1,1",
                                           "h28w28c32_k3x3_oc8192_p1,1,1,1_g16",
                                           "h28w28c16_k7x7_oc96_p3,3,3,3",
                                           "h1w512c32_k1x11_oc420_p0,0,5,5"));

class AccuracyBoundTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(AccuracyBoundTest, HoldsForEveryElement) {
  const std::string text = std::string(std::get<0>(GetParam())) + "_" + std::get<1>(GetParam());
  for (const Data data : {Data::kNormal, Data::kPositive}) {
    const Sample sample(text, data);
    const std::vector<double> tile_scale = TileScale(sample);
    ForEachPlan(sample.problem, [&](const PlanOptions& options, const Plan& plan) {
      const Promise* const promise = PromiseOf(options.algorithm);
      ASSERT_NE(promise, nullptr) << "docs/numerics.md and this test need a row for the algorithm";
      const double c =
          LargestC(sample, promise->transforms ? tile_scale : sample.scale, Compute(sample, plan));
      std::printf("%-46s %-10s %-6s %-6s %s c %.2f\n", text.c_str(), options.algorithm.c_str(),
                  Name(options.accuracy), dgrad::Name(options.isa),
                  data == Data::kNormal ? "both signs" : "one sign  ", c);
      EXPECT_LE(c, data == Data::kNormal ? promise->both_signs : promise->one_sign);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AccuracyBoundTest,
    ::testing::Combine(::testing::Values("h28w28c32_k3x3_oc512_p1,1,1,1",          //
                                         "n3_h14w14c24_k3x3_oc64_p1,1,1,1",        //
                                         "h7w7c40_k3x3_oc300_pvalid",              //
                                         "h26w26c16_k3x3_oc64_p5,5,5,5_d5x5",      //
                                         "h20w24c16_k5x5_oc64_p2,2,2,2",           //
                                         "h20w24c16_k7x7_oc64_p3,3,3,3",           //
                                         "h1w90c16_k1x11_oc80_p0,0,10,10_d1x2",    //
                                         "h24w20c16_k6x9_oc64_s1x2_p2,3,4,4",      //
                                         "n2_h32w32c16_k4x4_oc128_s2x2_p1,1,1,1",  //
                                         "h30w30c4_k9x9_oc56_s3x3_p3,3,3,3",       //
                                         "h24w24c3_k3x3_oc600_p1,1,1,1",           //
                                         "h16w16c64_k3x3_oc64_p1,1,1,1_g64",       //
                                         "h16w16c32_k3x3_oc256_p1,1,1,1_g8"),
                       ::testing::Values("f32", "nchw_f32", "bf16", "f16", "f64")));

}  // namespace
}  // namespace dgrad::testing
