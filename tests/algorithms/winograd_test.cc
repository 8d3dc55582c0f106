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
    // Pieces of taps.
    "h15w14c20_k7x7_oc18_p3,3,3,3",  // 4 + 3 taps on both axes
    "n2_h13w9c33_k6x6_oc20_psame",   // 3 + 3, tiles of 3 and 2
    "h20w11c7_k9x3_oc9_p4,4,1,1",    // 3 + 3 + 3, and one piece
    "h1w70c40_k1x11_oc24_p0,0,25,25_d1x5",
    "h33w1c12_k13x1_oc10_p6,6,0,0",
    "h12w30c5_k2x24_oc6_p0,1,12,12",  // the most there are
    "h11w16c9_k13x11_oc6_psame_d1x2",
    "h30w9c6_k7x9_oc5_p9,9,8,8_d3x2",
    "h24w22c8_k13x11_oc7_s2x2_p5,5,5,5",  // phases of 7 and 6 taps, and of 6 and 5
    "h29w31c5_k18x20_oc6_s3x3_p8,7,9,8",
    "h14w13c6_k6x2_oc5_s1x2_p2,3,0,0",
    "n2_h3w2c4_k7x7_oc5_p3,3,3,3",  // less than a tile
    "h2w40c8_k7x7_oc300_p3,3,3,3",  // pieces of taps and of terms
    "h9w9c5_k11x9_oc3_p12,12,9,9",  // padding past the filter's reach
    "h40w14c3_k11x6_oc4_pvalid",
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
        "n2_h6w5c144_k4x4_oc300_s2x2_p1,1,1,1", "h4w5c200_k3x3_oc200_p1,1,1,1_nchw_f64",
        "h5w6c150_k7x7_oc140_p3,3,3,3"}) {
    CheckEverywhere(problem, "winograd", Fill::kReal);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, WinogradTest, ::testing::Values("f16", "bf16", "f32", "f64"),
                         [](const auto& type) { return std::string(type.param); });

// Pieces that fit no workspace are refused, with what they need.
TEST(LargeFilterTest, KeepsToTheWorkspaceLimit) {
  const Problem p = Parse("h20w20c24_k11x11_oc64_psame");
  PlanOptions options;
  options.algorithm = "winograd";
  options.workspace_limit = 4 << 20;
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(Plan::Create(p, options, &plan).ok());
  EXPECT_LE(plan->workspace_bytes(), options.workspace_limit);
  EXPECT_TRUE(MatchesReference(p, 7, Fill::kReal, Bound::kTile, RunPlan(*plan, 7, Fill::kReal)));
  options.workspace_limit = 100000;
  const Status status = Plan::Create(p, options, &plan);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("the winograd algorithm needs"), std::string::npos);
  options.algorithm.clear();
  EXPECT_TRUE(Plan::Create(p, options, &plan).ok());
}

// Every index of the axis lies in one tile, and a tile reads what its taps ask for.
TEST(AxisTilingTest, TilesCoverTheAxisOnce) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(seed);
    const auto pick = [&](uint64_t i, uint64_t n) {
      return static_cast<int64_t>(Random(seed, i) % n);
    };
    Axis axis;
    axis.out = 1 + pick(0, 20);
    axis.taps = 1 + pick(1, 30);
    axis.stride = 1 + pick(2, 4);
    axis.dilation = axis.stride > 1 ? 1 : 1 + pick(3, 5);
    axis.pad_before = pick(4, 9);
    axis.in = 1 + pick(5, 60);
    if (winograd::AxisTiling::Refusal(axis) != nullptr) continue;
    const winograd::AxisTiling tiling(axis);
    std::vector<int> visits(static_cast<size_t>(axis.in));
    int taps = 0;
    for (int i = 0; i < tiling.pieces(); ++i) {
      ASSERT_EQ(tiling.piece(i).begin, taps);
      taps += tiling.piece(i).taps;
    }
    ASSERT_EQ(taps, tiling.taps());
    int64_t points = 0;
    int64_t output_points = 0;
    for (int64_t t = 0; t < tiling.count(); ++t) {
      const winograd::AxisTile tile = tiling.At(t);
      ASSERT_EQ(tile.point_set, tiling.point_set(tile.outputs, 0));
      const kernels::PointSet& set = kernels::kPointSets[tile.point_set];
      output_points += set.count;
      for (int i = 0; i < tiling.pieces(); ++i) {
        const kernels::PointSet& other = kernels::kPointSets[tiling.point_set(tile.outputs, i)];
        ASSERT_EQ(&other.family, &set.family);
        ASSERT_EQ(other.Mask(), tiling.points_mask(tile.outputs, i));
        ASSERT_EQ(other.Mask() & ~set.Mask(), 0U);
        ASSERT_EQ(other.count, tile.outputs + tiling.piece(i).taps - 1);
        points += other.count;
      }
      ASSERT_LE(tile.outputs + tiling.taps() - 1, tiling.window());
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
    ASSERT_EQ(output_points, tiling.output_points());
    for (const int count : visits) ASSERT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace dgrad::testing
