#include "src/algorithms/winograd/axis_tiling.h"

#include <algorithm>

#include "src/base/integer.h"

namespace dgrad::winograd {

const char* AxisTiling::Refusal(const Axis& axis) {
  constexpr int64_t kLongest = int64_t{1} << 40;
  if (axis.stride > 1 && axis.dilation > 1) return "it serves no strides with dilations";
  if (axis.stride > 64) return "it serves strides up to 64";
  if (CeilDivide(axis.taps, axis.stride) > kMostTaps) return "it serves at most 24 taps a phase";
  if (std::max({axis.in, axis.out, axis.dilation, axis.pad_before}) > kLongest) {
    return "it serves axes of at most 2^40 indices";
  }
  return nullptr;
}

// With the pieces that take the fewest multiplications; the fewest of those, since each has an
// input transform and a filter of its own.
AxisTiling::AxisTiling(const Axis& axis) {
  constexpr int kFewestTaps = 3;  // of a piece: all such share the points of the longest
  const auto taps = static_cast<int>(CeilDivide(axis.taps, axis.stride));
  const int fewest = (taps + kernels::kMaxTaps - 1) / kernels::kMaxTaps;
  *this = AxisTiling(axis, fewest);
  for (int pieces = fewest + 1; pieces <= std::min(kMostPieces, taps / kFewestTaps); ++pieces) {
    const AxisTiling other(axis, pieces);
    if (other.total_points() < total_points()) *this = other;
  }
}

AxisTiling::AxisTiling(const Axis& axis, int pieces)
    : stride_(axis.stride), dilation_(axis.dilation), pieces_(pieces) {
  taps_ = static_cast<int>(CeilDivide(axis.taps, axis.stride));
  long_pieces_ = taps_ - (taps_ - 1) / pieces_ * pieces_;
  const kernels::PointFamily& family = kernels::FamilyFor(piece(0).taps);
  points_ = family.count;
  for (int outputs = 1; outputs <= most_outputs(); ++outputs) {
    for (const int piece_index : {0, pieces_ - 1}) {
      const int set = kernels::FindPointSet(family, outputs + piece(piece_index).taps - 1);
      if (set < 0) continue;
      sets_[IsShort(piece_index)][outputs] = set;
      masks_[IsShort(piece_index)][outputs] = kernels::kPointSets[set].Mask();
    }
  }
  // Output 0 of phase 0 of the tile that begins at index 0 of out_backprop.
  const int64_t offset = (taps_ - 1) * stride_ * dilation_ - axis.pad_before;
  if (stride_ > 1) {
    in_first_ = FloorDivide(-offset, stride_);
    out_first_ = in_first_ * stride_ + offset;
    long_ = Cut(CeilDivide(axis.in - out_first_, stride_));
    long_grids_ = 1;
    return;
  }
  in_first_ = -offset;
  long_ = Cut(CeilDivide(axis.in, dilation_));
  short_ = Cut(axis.in / dilation_);
  long_grids_ = axis.in % dilation_ == 0 ? dilation_ : axis.in % dilation_;
  short_grids_ = std::min(axis.in, dilation_) - long_grids_;
}

AxisTiling::Grid AxisTiling::Cut(int64_t length) const {
  Grid grid;
  if (length <= 0) return grid;
  grid.tiles = CeilDivide(length, most_outputs());
  if (long_pieces_ < pieces_) {  // only the points of full tiles have those of short pieces
    grid.large = grid.tiles;
    grid.size = most_outputs();
    return grid;
  }
  grid.size = CeilDivide(length, grid.tiles);
  grid.large = length - grid.tiles * (grid.size - 1);
  return grid;
}

// No set of points gives fewer than two outputs; what is too much lies beyond the axis.
int AxisTiling::Outputs(int64_t size) const {
  return taps_ == 1 ? 1 : static_cast<int>(std::max<int64_t>(2, size));
}

TapPiece AxisTiling::piece(int index) const {
  const int longest = (taps_ + pieces_ - 1) / pieces_;
  return {longest * index - std::max(0, index - long_pieces_),
          index < long_pieces_ ? longest : longest - 1};
}

AxisTile AxisTiling::At(int64_t index) const {
  const int64_t in_long = long_grids_ * long_.tiles;
  const Grid& grid = index < in_long ? long_ : short_;
  int64_t residue = index / std::max<int64_t>(1, long_.tiles);
  if (index >= in_long) {
    residue = long_grids_ + (index - in_long) / short_.tiles;
    index = (index - in_long) % short_.tiles;
  } else {
    index %= long_.tiles;
  }
  AxisTile tile;
  const bool large = index < grid.large;
  const int64_t size = large ? grid.size : grid.size - 1;
  const int64_t first = large ? index * grid.size : index * size + grid.large;  // output of a phase
  tile.outputs = Outputs(size);
  tile.point_set = point_set(tile.outputs, 0);
  tile.in_begin = in_first_ + first * dilation_ + residue;
  tile.out_begin = out_first_ + first * stride_ * dilation_ + residue;
  tile.run = (large ? grid.large : grid.tiles) - index;
  return tile;
}

// A tile has outputs - 1 points more than taps in each piece.
int64_t AxisTiling::PointsOf(int pieces, int taps) const {
  const auto points = [&](const Grid& grid) {
    if (grid.tiles == 0) return int64_t{0};
    return grid.large * (pieces * (Outputs(grid.size) - 1) + taps) +
           (grid.tiles - grid.large) * (pieces * (Outputs(grid.size - 1) - 1) + taps);
  };
  return long_grids_ * points(long_) + short_grids_ * points(short_);
}

}  // namespace dgrad::winograd
