#include "src/base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace dgrad {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// One half type as the tests see it.
struct F16 {
  using Type = Float16;
  static constexpr int kFractionBits = 10;
  static constexpr int kBias = 15;
  template <typename T>
  static uint16_t From(T value) {
    return ToFloat16(value).bits;
  }
};
struct BF16 {
  using Type = BFloat16;
  static constexpr int kFractionBits = 7;
  static constexpr int kBias = 127;
  template <typename T>
  static uint16_t From(T value) {
    return ToBFloat16(value).bits;
  }
};

template <typename Half>
uint16_t InfCode() {
  return static_cast<uint16_t>(0x7fff >> Half::kFractionBits << Half::kFractionBits);
}

// The value of a finite code >= 0, from the definition of the encoding.
template <typename Half>
double ValueOf(uint16_t code) {
  const int field = code >> Half::kFractionBits;
  const int fraction = code & ((1 << Half::kFractionBits) - 1);
  if (field == 0) return std::ldexp(fraction, 1 - Half::kBias - Half::kFractionBits);
  return std::ldexp(fraction + (1 << Half::kFractionBits),
                    field - Half::kBias - Half::kFractionBits);
}

// The nearest code by search in the table of all values, ties to the even code. Inf takes the place
// of the next power of two.
template <typename Half>
class Nearest {
 public:
  Nearest() {
    for (uint16_t code = 0; code < InfCode<Half>(); ++code) values_.push_back(ValueOf<Half>(code));
    values_.push_back(std::ldexp(1.0, Half::kBias + 1));
  }

  uint16_t operator()(double value) const {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    const auto above = std::lower_bound(values_.begin(), values_.end(), magnitude);
    if (above == values_.end()) return sign | InfCode<Half>();
    const auto code = static_cast<uint16_t>(above - values_.begin());
    if (*above == magnitude) return sign | code;
    // The middle of two neighbours is exact in double.
    const double middle = (values_[code - 1] + *above) / 2;
    const bool up = magnitude > middle || (magnitude == middle && code % 2 == 0);
    return static_cast<uint16_t>(sign | (up ? code : code - 1));
  }

  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

template <typename Half>
class HalfTest : public testing::Test {};
using Halves = testing::Types<F16, BF16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryCodeHasTheValueOfItsEncodingAndComesBack) {
  const uint16_t inf = InfCode<TypeParam>();
  const uint16_t quiet = static_cast<uint16_t>(1 << (TypeParam::kFractionBits - 1));
  for (int i = 0; i < 65536; ++i) {
    const auto code = static_cast<uint16_t>(i);
    const float value = ToFloat(typename TypeParam::Type{code});
    const uint16_t magnitude = code & 0x7fff;
    ASSERT_EQ(std::signbit(value), (code & 0x8000) != 0) << i;
    if (magnitude > inf) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_NE(std::bit_cast<uint32_t>(value) & 0x00400000u, 0u) << i << " is not quiet";
      ASSERT_EQ(TypeParam::From(value), code | quiet) << i;
      ASSERT_EQ(TypeParam::From(static_cast<double>(value)), code | quiet) << i;
      continue;
    }
    const double expected = magnitude == inf ? kInf : ValueOf<TypeParam>(magnitude);
    ASSERT_EQ(std::fabs(static_cast<double>(value)), expected) << i;
    ASSERT_EQ(TypeParam::From(value), code) << i;
    ASSERT_EQ(TypeParam::From(static_cast<double>(value)), code) << i;
  }
}

TYPED_TEST(HalfTest, RoundsAroundTheMiddleOfAllNeighbours) {
  const Nearest<TypeParam> nearest;
  const std::vector<double>& values = nearest.values();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    for (const double sign : {1.0, -1.0}) {
      // In double: the middle and both numbers next to it.
      for (const double value :
           {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL)}) {
        ASSERT_EQ(TypeParam::From(sign * value), nearest(sign * value)) << i << " " << value;
      }
      // In float, where the middle is exact too.
      const auto single = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(single), middle);
      for (const float value :
           {single, std::nextafterf(single, 0), std::nextafterf(single, kInf)}) {
        const float given = static_cast<float>(sign) * value;
        ASSERT_EQ(TypeParam::From(given), nearest(static_cast<double>(given))) << i << " " << value;
      }
    }
  }
}

TYPED_TEST(HalfTest, RandomNumbersRoundToTheNearest) {
  constexpr uint64_t kSeed = 20240117;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  const Nearest<TypeParam> nearest;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300000; ++i) {
    const uint64_t bits = random();
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(single)) {
      ASSERT_EQ(TypeParam::From(single), nearest(static_cast<double>(single))) << single;
    }
    // Exponents around the range of the type; all 52 bits of fraction.
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53 + 1.0;
    const int exponent = static_cast<int>(bits % 300) - 150;
    const double value = std::ldexp((bits & 512) != 0 ? fraction : -fraction, exponent);
    ASSERT_EQ(TypeParam::From(value), nearest(value)) << value;
  }
}

TYPED_TEST(HalfTest, Extremes) {
  const uint16_t inf = InfCode<TypeParam>();
  EXPECT_EQ(TypeParam::From(0.0f), 0);
  EXPECT_EQ(TypeParam::From(-0.0f), 0x8000);
  EXPECT_EQ(TypeParam::From(-0.0), 0x8000);
  EXPECT_EQ(TypeParam::From(kInf), inf);
  EXPECT_EQ(TypeParam::From(-kInf), inf | 0x8000);
  EXPECT_EQ(TypeParam::From(std::numeric_limits<double>::max()), inf);
  EXPECT_EQ(TypeParam::From(-std::numeric_limits<double>::max()), inf | 0x8000);
  EXPECT_EQ(TypeParam::From(std::numeric_limits<float>::max()), inf);
  EXPECT_EQ(TypeParam::From(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(TypeParam::From(-std::numeric_limits<double>::denorm_min()), 0x8000);
  EXPECT_EQ(TypeParam::From(std::numeric_limits<float>::denorm_min()), 0);
  // A NaN whose payload lies in the dropped bits only must not turn into Inf.
  EXPECT_GT(TypeParam::From(std::bit_cast<float>(0x7f800001u)), inf);
  EXPECT_GT(TypeParam::From(std::bit_cast<double>(uint64_t{0x7ff0000000000001})), inf);
  EXPECT_GT(TypeParam::From(std::bit_cast<float>(0xff800001u)), inf | 0x8000);
}

TYPED_TEST(HalfTest, DoubleIsRoundedOnce) {
  // Just above the middle of 1 and its successor, by less than a float can tell.
  const double value = 1 + std::ldexp(1.0, -TypeParam::kFractionBits - 1) + 0x1p-40;
  const uint16_t one = TypeParam::From(1.0);
  EXPECT_EQ(TypeParam::From(value), one + 1);
  EXPECT_EQ(TypeParam::From(static_cast<float>(value)), one);
}

TEST(Float16Test, KnownCodes) {
  EXPECT_EQ(ToFloat16(1.0f).bits, 0x3c00);
  EXPECT_EQ(ToFloat16(-2.5f).bits, 0xc100);
  EXPECT_EQ(ToFloat16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(ToFloat16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(ToFloat16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToFloat16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(ToFloat16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(ToFloat16(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(ToFloat16(0x1.ffcp-15f).bits, 0x0400);  // a subnormal that rounds up to normal
}

TEST(BFloat16Test, KnownCodes) {
  EXPECT_EQ(ToBFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(ToBFloat16(-2.5f).bits, 0xc020);
  EXPECT_EQ(ToBFloat16(256.0f).bits, 0x4380);
  EXPECT_EQ(ToBFloat16(257.0f).bits, 0x4380);
  EXPECT_EQ(ToBFloat16(259.0f).bits, 0x4382);
  EXPECT_EQ(ToBFloat16(0x1p-133f).bits, 0x0001);
  EXPECT_EQ(ToBFloat16(0x1p-134f).bits, 0x0000);
}

// Usable in constant expressions.
static_assert(ToFloat16(0.5f).bits == 0x3800);
static_assert(ToFloat16(0.1).bits == 0x2e66);
static_assert(ToBFloat16(0.1).bits == 0x3dcd);
static_assert(ToFloat(Float16{0x0001}) == 0x1p-24f);
static_assert(ToFloat(BFloat16{0x4049}) == 3.140625f);

}  // namespace
}  // namespace dgrad
