// The row kernel for groups of few channels: every size of tile, number of taps and kind of group,
// below, at and beyond the kernel's own sizes.
#include "src/kernels/group_rows/group_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/base/half.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

using kernels::GroupRowCall;
using kernels::GroupRowPart;

// Small integers: every sum is exact.
int64_t Small(uint64_t seed, int64_t i) {
  return static_cast<int64_t>(Random(seed, static_cast<uint64_t>(i)) % 7) - 3;
}

template <typename S>
S Stored(int64_t value) {
  return static_cast<S>(value);
}
template <>
Float16 Stored<Float16>(int64_t value) {
  return ToFloat16(static_cast<float>(value));
}
template <>
BFloat16 Stored<BFloat16>(int64_t value) {
  return ToBFloat16(static_cast<float>(value));
}

double Number(Float16 value) { return ToFloat(value); }
double Number(BFloat16 value) { return ToFloat(value); }
template <typename S>
double Number(S value) {
  return static_cast<double>(value);
}

template <typename S, typename T>
struct Types {
  using Stored = S;
  using Computed = T;
};

template <typename Pair>
class GroupRowsTest : public ::testing::Test {};
using AllTypes =
    ::testing::Types<Types<float, float>, Types<double, double>, Types<int32_t, int32_t>,
                     Types<Float16, float>, Types<BFloat16, float>>;
TYPED_TEST_SUITE(GroupRowsTest, AllTypes);

// One part of `pixels` pixels, `taps` taps and `row_taps` row taps; inputs beyond [begin, end) must
// not be read.
template <typename S, typename T>
void Check(Isa isa, int64_t terms, int64_t pixels, int64_t taps, int64_t row_taps, int tile,
           int64_t begin, int64_t end, int64_t spare_channels) {
  const auto& family = kernels::GroupRows<S, T>(isa);
  const int64_t lanes = family.lanes;
  const int64_t channels = 2 * lanes + spare_channels;
  const int64_t vectors = spare_channels == 0 ? 2 : 3;
  const int64_t inputs = pixels + taps - 1;
  const int64_t in_pitch = channels + 3;
  const int64_t out_pitch = channels + 5;
  const int64_t a_row = inputs * in_pitch + 7;
  std::vector<S> a(static_cast<size_t>(row_taps * a_row));
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) {
    const int64_t input = i % a_row / in_pitch;
    // What must not be read would spread.
    const bool exists = input >= begin && input < end && i % a_row % in_pitch < channels;
    a[static_cast<size_t>(i)] = Stored<S>(exists ? Small(1, i) : 1000);
  }
  const int64_t b_row = taps * terms * lanes + lanes;  // a gap before the part's filter
  std::vector<T> b(static_cast<size_t>(vectors * row_taps * b_row));
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(Small(2, static_cast<int64_t>(i)));
  std::vector<S> out(static_cast<size_t>((pixels + 1) * out_pitch), Stored<S>(9));

  GroupRowPart parts[2];
  GroupRowPart& part = parts[0];
  part.in_step = in_pitch;
  part.in_begin = begin;
  part.in_end = end;
  part.out_step = out_pitch;
  part.pixels = pixels;
  part.b_offset = lanes;
  part.taps = static_cast<int32_t>(taps);
  part.tile = tile;
  parts[1].out_offset = pixels * out_pitch;  // a pixel without taps
  parts[1].pixels = 1;
  GroupRowCall<S, T> call;
  call.a = a.data() + (row_taps - 1) * a_row;
  call.a_row_tap = -a_row;
  call.row_taps = row_taps;
  call.out = out.data();
  call.b = b.data();
  call.b_row_tap = b_row;
  call.b_vector = row_taps * b_row;
  call.parts = parts;
  call.part_count = 2;
  call.vectors = vectors;
  call.last_channel = channels - lanes;
  call.terms = terms;
  call.a_ahead = a_row;
  call.out_ahead = out_pitch;
  family.run(call);

  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const int64_t pixel = i / out_pitch;
    const int64_t channel = i % out_pitch;
    double want = 9;
    if (channel < channels) {
      want = 0;
      const int64_t vector = channel < 2 * lanes && (vectors == 2 || channel < channels - lanes)
                                 ? channel / lanes
                                 : vectors - 1;
      const int64_t first = std::min(vector * lanes, channels - lanes);
      for (int64_t r = 0; pixel < pixels && r < row_taps; ++r) {
        for (int64_t term = 0; term < terms; ++term) {
          for (int64_t k = 0; k < taps; ++k) {
            if (pixel + k < begin || pixel + k >= end) continue;
            const int64_t from = (row_taps - 1 - r) * a_row + (pixel + k) * in_pitch +
                                 channel / terms * terms + term;
            const int64_t at = (vector * row_taps + r) * b_row + lanes + (term * taps + k) * lanes +
                               channel - first;
            want += Number(a[static_cast<size_t>(from)]) * Number(b[static_cast<size_t>(at)]);
          }
        }
      }
    }
    ASSERT_EQ(Number(out[static_cast<size_t>(i)]), want)
        << Name(isa) << ", groups of " << terms << ", " << pixels << " pixels, " << taps << " x "
        << row_taps << " taps, tile " << tile << ", inputs [" << begin << ", " << end << "), pixel "
        << pixel << ", channel " << channel;
  }
}

TYPED_TEST(GroupRowsTest, EveryTile) {
  using S = typename TypeParam::Stored;
  using T = typename TypeParam::Computed;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::GroupRows<S, T>(isa);
    for (int64_t terms = 1; terms <= std::min(family.lanes, 8); terms *= 2) {
      for (int tile = 0; tile < family.tiles; ++tile) {
        const int64_t size = family.tile_pixels[tile];
        for (const int64_t pixels : {size, size + 1, 2 * size, 2 * size + 1}) {
          for (int64_t taps = 1; taps <= 7; ++taps) {
            const int64_t inputs = pixels + taps - 1;
            for (int64_t missing = 0; missing < taps; ++missing) {
              Check<S, T>(isa, terms, pixels, taps, 1 + missing % 3, tile, missing,
                          std::max(inputs - missing / 2, missing + 1), missing % 2 * terms);
              if (::testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

// Filters of many taps take them block by block, of which some inputs, or all, may be missing.
TYPED_TEST(GroupRowsTest, ManyTaps) {
  using S = typename TypeParam::Stored;
  using T = typename TypeParam::Computed;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::GroupRows<S, T>(isa);
    for (int64_t terms = 1; terms <= std::min(family.lanes, 4); terms *= 4) {
      for (int tile = 0; tile < family.tiles; ++tile) {
        const int64_t pixels = family.tile_pixels[tile] + 1;
        for (const int64_t taps : {8, 9, 10, 11, 13, 16, 21, 31}) {
          const int64_t inputs = pixels + taps - 1;
          for (int64_t missing = 0; missing < taps; missing += missing < 6 ? 1 : 4) {
            const int64_t end = std::max(inputs - missing / 2, missing + 1);
            const int64_t row_taps = sizeof(S) == 2 ? 1 : 2;
            Check<S, T>(isa, terms, pixels, taps, row_taps, tile, missing, end, 0);
            Check<S, T>(isa, terms, pixels, taps, row_taps, tile, 0, inputs - missing, terms);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TYPED_TEST(GroupRowsTest, LongSums) {
  using S = typename TypeParam::Stored;
  using T = typename TypeParam::Computed;
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::GroupRows<S, T>(isa);
    for (int tile = 0; tile < family.tiles; ++tile) {
      const int64_t size = family.tile_pixels[tile];
      for (const int64_t taps : {1, 3, 30}) {
        if (sizeof(S) == 2 && taps > 3) continue;  // exact sums would not fit
        for (const int64_t row_taps : {256 / taps, 256 / taps + 1, 2 * (256 / taps) + 1}) {
          if (sizeof(S) == 2) {
            Check<S, T>(isa, 1, size, taps, std::min<int64_t>(row_taps, 20), tile, 0,
                        size + taps - 1, 0);
          } else {
            Check<S, T>(isa, 1, size, taps, row_taps, tile, 0, size + taps - 1, 0);
          }
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(GroupRowTiles, FitTheirPixels) {
  for (const Isa isa : UsableIsas()) {
    const auto& family = kernels::GroupRows<float, float>(isa);
    for (int64_t pixels = 1; pixels <= 300; ++pixels) {
      const int tile = kernels::BestGroupRowTile(family, pixels);
      ASSERT_GE(tile, 0);
      ASSERT_LT(tile, family.tiles);
      ASSERT_LE(family.tile_pixels[tile], pixels);
    }
    for (int tile = 0; tile < family.tiles; ++tile) {  // the best for its own size
      EXPECT_EQ(kernels::BestGroupRowTile(family, family.tile_pixels[tile]), tile) << Name(isa);
    }
  }
}

}  // namespace
}  // namespace dgrad::testing
