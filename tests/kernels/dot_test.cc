// Every register tile of bfloat16 pairs, below, at and beyond its own size.
#include "src/kernels/dot/dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "src/base/half.h"
#include "src/base/isa.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

using kernels::BFloat16Pair;
using kernels::GemmStep;

// Small integers: every sum is exact, in bfloat16 too.
float Small(uint64_t seed, int64_t i) {
  return static_cast<float>(static_cast<int64_t>(Random(seed, static_cast<uint64_t>(i)) % 7) - 3);
}
BFloat16Pair SmallPair(uint64_t seed, int64_t i) {
  return {ToBFloat16(Small(seed, 2 * i)), ToBFloat16(Small(seed, 2 * i + 1))};
}
float Product(BFloat16Pair a, BFloat16Pair b) {
  return ToFloat(a.first) * ToFloat(b.first) + ToFloat(a.second) * ToFloat(b.second);
}
float AsFloat(float value) { return value; }
float AsFloat(BFloat16 value) { return ToFloat(value); }

constexpr int64_t kPairs = 13;

template <typename Out>
void CheckTiles(const std::vector<GemmStep>& steps, bool may_accumulate) {
  if (!HasFastBf16Dot()) GTEST_SKIP() << "no fast products of bfloat16";
  const auto* const family = kernels::Dot<Out>();
  if (family == nullptr) GTEST_SKIP() << "not compiled";
  // From an odd multiple of two bytes on, as a tensor may lie.
  std::vector<BFloat16> memory(8001);
  for (size_t i = 0; i < 8000; ++i) {
    memory[i + 1] = ToBFloat16(Small(1, static_cast<int64_t>(i)));
  }
  const auto* const a = reinterpret_cast<const BFloat16Pair*>(memory.data() + 1);
  const Out nine = [] {
    if constexpr (std::is_same_v<Out, float>)
      return 9.0f;
    else
      return ToBFloat16(9.0f);
  }();
  for (int vectors = 1; vectors <= kernels::kGemmMaxVectors; ++vectors) {
    const int64_t width = vectors * family->lanes;
    std::vector<BFloat16Pair> b(static_cast<size_t>(kPairs * width));
    for (size_t i = 0; i < b.size(); ++i) b[i] = SmallPair(2, static_cast<int64_t>(i));
    for (int rows = 1; rows <= family->max_rows[vectors]; ++rows) {
      for (int64_t columns = 1; columns <= width; ++columns) {
        for (const bool accumulate : {false, true}) {
          if (accumulate && !may_accumulate) continue;
          std::vector<int64_t> a_offsets, out_offsets;
          for (int r = 0; r < rows; ++r) {
            a_offsets.push_back(100 + 37 * r);
            out_offsets.push_back((rows - 1 - r) * (width + 5));
          }
          std::vector<Out> out(static_cast<size_t>(rows * (width + 5)), nine);
          kernels::GemmCall<Out, BFloat16Pair> call;
          call.a = a;
          call.a_offsets = a_offsets.data();
          call.b = b.data();
          call.out = out.data();
          call.out_offsets = out_offsets.data();
          call.steps = steps.data();
          call.step_count = static_cast<int64_t>(steps.size());
          call.columns = columns;
          call.accumulate = accumulate;
          family->kernels[vectors][rows](call);
          for (int r = 0; r < rows; ++r) {
            for (int64_t n = 0; n < width + 5; ++n) {
              float want = 9;
              if (n < columns) {
                if (!accumulate) want = 0;
                for (const GemmStep& step : steps) {
                  for (int64_t i = 0; i < step.terms; ++i) {
                    want += Product(a[100 + 37 * r + step.a_offset + i],
                                    b[static_cast<size_t>((step.b_row + i) * width + n)]);
                  }
                }
                // As the store rounds.
                if constexpr (!std::is_same_v<Out, float>) want = ToFloat(ToBFloat16(want));
              }
              const size_t at = static_cast<size_t>(out_offsets[static_cast<size_t>(r)] + n);
              ASSERT_EQ(AsFloat(out[at]), want) << rows << " x " << vectors << ", columns "
                                                << columns << ", row " << r << ", column " << n;
            }
          }
        }
      }
    }
  }
}

TEST(DotTilesTest, SumsInFloat) {
  CheckTiles<float>({{5, 0, 7, 0}, {-3, 7, 2, 1}, {40, 9, 1, 0}, {11, 10, 3, 1}}, true);
}

// One partial sum of 256 terms, real numbers: products are exact in float32, so that the bound of
// direct sums holds before anything is rounded to bfloat16.
TEST(DotTilesTest, PartialSumsStayWithinTheBound) {
  if (!HasFastBf16Dot()) GTEST_SKIP() << "no fast products of bfloat16";
  const auto* const family = kernels::Dot<float>();
  if (family == nullptr) GTEST_SKIP() << "not compiled";
  constexpr int64_t kCount = 128;
  const int64_t width = 2 * family->lanes;
  for (const bool one_sign : {false, true}) {
    double largest = 0;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      const auto real = [&](uint64_t i) {
        const double unit = static_cast<double>(Random(seed, i) >> 11) * 0x1p-53;
        return ToBFloat16(static_cast<float>(one_sign ? unit : 2 * unit - 1));
      };
      std::vector<BFloat16Pair> a(kCount), b(static_cast<size_t>(kCount * width));
      uint64_t i = 0;
      for (BFloat16Pair& pair : a) pair = {real(++i), real(++i)};
      for (BFloat16Pair& pair : b) pair = {real(++i), real(++i)};
      std::vector<float> out(static_cast<size_t>(width));
      const int64_t zero = 0;
      const GemmStep step = {0, 0, kCount, 1};
      kernels::GemmCall<float, BFloat16Pair> call;
      call.a = a.data();
      call.b = b.data();
      call.out = out.data();
      call.a_offsets = call.out_offsets = &zero;
      call.steps = &step;
      call.step_count = 1;
      call.columns = width;
      call.accumulate = false;
      family->kernels[2][1](call);
      for (int64_t n = 0; n < width; ++n) {
        double want = 0;
        double scale = 0;
        for (int64_t k = 0; k < kCount; ++k) {
          const BFloat16Pair x = a[static_cast<size_t>(k)];
          const BFloat16Pair y = b[static_cast<size_t>(k * width + n)];
          const double first = static_cast<double>(ToFloat(x.first)) * ToFloat(y.first);
          const double second = static_cast<double>(ToFloat(x.second)) * ToFloat(y.second);
          want += first + second;
          scale += std::abs(first) + std::abs(second);
        }
        largest =
            std::max(largest, std::abs(out[static_cast<size_t>(n)] - want) / (0x1p-24 * scale));
      }
    }
    std::printf("c %.2f, %s\n", largest, one_sign ? "one sign" : "both signs");
    EXPECT_LE(largest, one_sign ? 32 : 8);
  }
}

TEST(DotTilesTest, RoundedSums) {
  CheckTiles<BFloat16>({{5, 0, 7, 0}, {-3, 7, 2, 0}, {40, 9, 1, 0}, {11, 10, 3, 1}}, false);
  CheckTiles<BFloat16>({{5, 0, 7, 1}, {-3, 7, 2, 1}, {40, 9, 1, 0}, {11, 10, 3, 1}}, false);
}

}  // namespace
}  // namespace dgrad::testing
