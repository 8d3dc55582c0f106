#include "src/kernels/convert/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "src/base/half.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

// Every code of a half type, at every place of a vector, against the scalar conversion.
template <typename Half>
void CheckWiden() {
  for (const Isa isa : UsableIsas()) {
    const kernels::ConvertFamily& family = kernels::Convert(isa);
    std::vector<Half> from;
    for (uint32_t code = 0; code < 65536; ++code) from.push_back({static_cast<uint16_t>(code)});
    for (const size_t skip : {size_t{0}, size_t{1}, size_t{5}}) {
      std::vector<float> to(from.size() - skip, 7.0f);
      kernels::Widen(family, from.data() + skip, to.data(), static_cast<int64_t>(to.size()));
      for (size_t i = 0; i < to.size(); ++i) {
        const float want = ToFloat(from[i + skip]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(to[i])) << Name(isa) << " code " << from[i + skip].bits;
        } else {
          ASSERT_EQ(std::bit_cast<uint32_t>(to[i]), std::bit_cast<uint32_t>(want))
              << Name(isa) << " code " << from[i + skip].bits;
        }
      }
    }
  }
}

template <typename Half>
void CheckNarrow(Half (*scalar)(float)) {
  std::vector<float> from;
  // Around every boundary: all high halves with low halves that round down, tie, round up.
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u}) {
      from.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  from.push_back(1.0f);  // a tail
  for (const Isa isa : UsableIsas()) {
    std::vector<Half> to(from.size());
    kernels::Narrow(kernels::Convert(isa), from.data(), to.data(), static_cast<int64_t>(to.size()));
    for (size_t i = 0; i < to.size(); ++i) {
      const Half want = scalar(from[i]);
      if (std::isnan(from[i])) {
        ASSERT_TRUE(std::isnan(ToFloat(to[i]))) << Name(isa) << " of a NaN";
      } else {
        ASSERT_EQ(to[i].bits, want.bits) << Name(isa) << " of " << from[i];
      }
    }
  }
}

// Short runs: nothing beyond them is written.
template <typename Half>
void CheckTails() {
  for (const Isa isa : UsableIsas()) {
    const kernels::ConvertFamily& family = kernels::Convert(isa);
    for (int64_t count = 0; count <= 37; ++count) {
      const auto size = static_cast<size_t>(count);
      std::vector<Half> half(size);  // sized exactly, so that sanitizers see what is read
      for (size_t i = 0; i < size; ++i) half[i] = {static_cast<uint16_t>(0x3C00 + 64 * i)};
      std::vector<float> wide(size + 1, 7.0f);
      kernels::Widen(family, half.data(), wide.data(), count);
      EXPECT_EQ(wide[size], 7.0f);
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(wide[i], ToFloat(half[i])) << Name(isa);
      wide.pop_back();
      std::vector<Half> back(size + 1, Half{0x1234});
      kernels::Narrow(family, wide.data(), back.data(), count);
      EXPECT_EQ(back[size].bits, 0x1234);
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(back[i].bits, half[i].bits) << Name(isa);
    }
  }
}

TEST(ConvertTest, TailsOfFloat16) { CheckTails<Float16>(); }
TEST(ConvertTest, TailsOfBFloat16) { CheckTails<BFloat16>(); }
TEST(ConvertTest, WidensEveryFloat16) { CheckWiden<Float16>(); }
TEST(ConvertTest, WidensEveryBFloat16) { CheckWiden<BFloat16>(); }
TEST(ConvertTest, NarrowsToFloat16) {
  CheckNarrow<Float16>([](float x) { return ToFloat16(x); });
}
TEST(ConvertTest, NarrowsToBFloat16) {
  CheckNarrow<BFloat16>([](float x) { return ToBFloat16(x); });
}

}  // namespace
}  // namespace dgrad::testing
