#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/algorithms/winograd/axis_tiling.h"
#include "tests/support/check.h"

namespace dgrad::testing {
namespace {

constexpr const char* kGeometries[] = {
    "h8w8c16_k3x3_oc16_p1,1,1,1",
    "n2_h7w7c33_k3x3_oc20_psame",      // tiles of 4 and 3
    "n3_h14w13c5_k3x3_oc40_p1,1,1,1",  // mixed in both directions
    "h5w6c70_k3x3_oc17_p0,2,2,0",      // tiles of 3 and 2
    "h1w2c3_k3x3_oc4_p1,1,1,1",        // less than a tile
    "n2_h9w9c24_k2x2_oc9_p1,0,0,1",    // four points
    "h11w10c20_k4x4_oc6_p2,1,2,1",     // three outputs of four taps
    "h12w13c18_k5x5_oc7_psame",        // two outputs of five taps
    "h6w40c12_k1x3_oc10_p0,0,1,1",     // one direction only
    "h40w3c12_k5x1_oc10_p2,2,0,0",
    "h12w15c9_k2x5_oc11_p1,0,2,2",           // different families
    "n2_h16w16c20_k4x4_oc19_s2x2_p1,1,1,1",  // four phases of two taps
    "n2_h15w13c6_k5x5_oc19_s2x2_p2,2,2,2",   // phases of three and two taps
    "h16w18c7_k3x3_oc13_s2x2_p1,1,1,1",      // phases of two taps and one
    "h13w14c5_k6x6_oc5_s2x2_p2,2,2,2",
    "h1w64c40_k1x16_oc24_s1x8_p0,0,4,4",  // eight phases
    "h20w21c8_k8x8_oc5_s4x4_p2,2,2,2",
    "h10w40c8_k7x6_oc6_s3x2_pvalid",  // unequal strides
    "h9w9c3_k2x3_oc5_s1x2_p0,1,1,1",
    "h33w33c20_k3x3_oc12_p12,12,12,12_d12x12",  // one tile a grid
    "h17w15c6_k3x3_oc7_p4,4,2,2_d4x2",
    "h4w40c6_k3x2_oc7_p7,7,0,1_d7x1",  // fewer rows than grids
    "h12w12c8_k3x3_oc300_p1,1,1,1",    // four pieces of terms
    "h6w6c2_k3x3_oc700_p1,1,1,1",
    "h9w11c50_k3x3_oc129_p1,1,1,1",  // pieces of 65 and 64
    "h5w5c2_k5x5_oc3_p6,6,6,6",      // padding past the filter's reach
    "h60w5c9_k3x3_oc3_pvalid",
};

class WinogradTest : public ::testing::TestWithParam<const char*> {};

TEST_P(WinogradTest, StaysWithinTheBound) {
  for (const char* geometry : kGeometries) {
    for (const char* layout : {"nhwc", "nchw"}) {
      CheckEverywhere(std::string(geometry) + "_" + layout + "_" + GetParam(), "winograd",
                      Fill::kReal);
      if (HasFatalFailure()) return;
    }
  }
}

// Filters beyond the second cache, which one-shot calls pack task by task.
TEST(LargeFilterTest, OneShotCallsGiveTheSameBits) {
  for (const char* problem :
       {"h6w7c330_k3x3_oc256_p1,1,1,1", "h6w7c330_k3x3_oc256_p1,1,1,1_bf16",
        "n2_h6w5c144_k4x4_oc300_s2x2_p1,1,1,1", "h4w5c200_k3x3_oc200_p1,1,1,1_nchw_f64"}) {
    CheckEverywhere(problem, "winograd", Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, WinogradTest, ::testing::Values("f16", "bf16", "f32", "f64"),
                         [](const auto& type) { return std::string(type.param); });

// Every index of the axis lies in one tile, and a tile reads what its taps ask for.
TEST(AxisTilingTest, TilesCoverTheAxisOnce) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(seed);
    const auto pick = [&](uint64_t i, uint64_t n) {
      return static_cast<int64_t>(Random(seed, i) % n);
    };
    Axis axis;
    axis.out = 1 + pick(0, 20);
    axis.taps = 1 + pick(1, 9);
    axis.stride = 1 + pick(2, 4);
    axis.dilation = axis.stride > 1 ? 1 : 1 + pick(3, 5);
    axis.pad_before = pick(4, 9);
    axis.in = 1 + pick(5, 60);
    if (winograd::AxisTiling::Refusal(axis) != nullptr) continue;
    const winograd::AxisTiling tiling(axis);
    std::vector<int> visits(static_cast<size_t>(axis.in));
    int64_t points = 0;
    for (int64_t t = 0; t < tiling.count(); ++t) {
      const winograd::AxisTile tile = tiling.At(t);
      ASSERT_GE(tile.point_set, 0);
      const int tile_points = kernels::kPointSets[tile.point_set].count;
      points += tile_points;
      ASSERT_EQ(tile_points, tile.outputs + tiling.taps() - 1);
      ASSERT_LE(t + tile.run, tiling.count());
      if (tile.run > 1) {
        const winograd::AxisTile next = tiling.At(t + 1);
        ASSERT_EQ(next.outputs, tile.outputs);
        ASSERT_EQ(next.in_begin, tile.in_begin + tile.outputs * tiling.in_step());
        ASSERT_EQ(next.out_begin, tile.out_begin + tile.outputs * tiling.out_step());
      }
      for (int k = 0; k < tile.outputs; ++k) {
        for (int q = 0; q < tiling.phases(); ++q) {
          const int64_t h = tile.out_begin + k * tiling.out_step() + q;
          if (h >= 0 && h < axis.in) ++visits[static_cast<size_t>(h)];
          // Tap i of the phase counts from the last one; it meets point k + i.
          for (int i = 0; i < tiling.taps(); ++i) {
            const int64_t tap = int64_t{tiling.taps() - 1 - i} * tiling.phases() + q;
            const int64_t o = tile.in_begin + (k + i) * tiling.in_step();
            ASSERT_EQ(o * axis.stride + tap * axis.dilation - axis.pad_before, h);
          }
        }
      }
    }
    ASSERT_EQ(points, tiling.total_points());
    for (const int count : visits) ASSERT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace dgrad::testing
