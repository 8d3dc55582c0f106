// One spatial axis cut into Winograd tiles.
//
// A tile reads indices of out_backprop, in_begin + i * dilation, and gives `outputs` indices of
// in_backprop for each of `stride` phases: out_begin + k * stride * dilation + phase. All phases of
// a stride read the same indices: that is what lets them share one transformed input. For it the
// filter counts as taps_per_phase * stride taps, zeros at its end.
//
// More taps than a short convolution has are cut into pieces, each a short convolution of its own
// over indices that begin `piece.begin` later; the products of all pieces add up point by point,
// and one transform of the sums gives the outputs. Pieces of one tap less leave a point out.
//
// A dilation gives `dilation` interleaved grids, one after the other.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_AXIS_TILING_H_
#define DGRAD_ALGORITHMS_WINOGRAD_AXIS_TILING_H_

#include <cstdint>

#include "src/kernels/winograd/points.h"
#include "src/problem/problem.h"

namespace dgrad::winograd {

inline constexpr int kMostPieces = 6;
inline constexpr int kMostTaps = 24;  // of a phase

// Taps [begin, begin + taps) of a phase, counted by the index that they meet, of all tiles.
struct TapPiece {
  int begin = 0;
  int taps = 1;
};

struct AxisTile {
  int64_t in_begin = 0;   // may lie outside out_backprop, as any index of the tile
  int64_t out_begin = 0;  // likewise
  int outputs = 1;
  int point_set = 0;  // of kernels::kPointSets: of the outputs, and of the first piece
  // Tiles that follow and differ from this one by their place alone, this one included.
  int64_t run = 1;
};

class AxisTiling {
 public:
  AxisTiling() = default;
  // For axes that Refusal() does not refuse.
  explicit AxisTiling(const Axis& axis);

  // Null when the axis can be tiled, else the reason.
  static const char* Refusal(const Axis& axis);

  int64_t count() const { return long_grids_ * long_.tiles + short_grids_ * short_.tiles; }
  AxisTile At(int64_t index) const;

  int phases() const { return static_cast<int>(stride_); }
  int taps() const { return taps_; }  // of a phase
  int pieces() const { return pieces_; }
  TapPiece piece(int index) const;        // the longest first
  int points() const { return points_; }  // of the family: of the largest tile
  int most_outputs() const { return points_ + 1 - piece(0).taps; }
  int window() const { return most_outputs() + taps_ - 1; }  // indices that the largest tile reads
  int64_t in_step() const { return dilation_; }              // between points
  int64_t out_step() const { return stride_ * dilation_; }   // between outputs of a phase
  // Of kernels::kPointSets, and the points in it as a mask: what a tile of so many outputs takes
  // for a piece. All of it is in the set of the first piece.
  int point_set(int outputs, int piece) const { return sets_[IsShort(piece)][outputs]; }
  uint32_t points_mask(int outputs, int piece) const { return masks_[IsShort(piece)][outputs]; }
  // Points of all tiles together, of all pieces: the multiplications per phase; and those that
  // outputs are made from.
  int64_t total_points() const { return PointsOf(pieces_, taps_); }
  int64_t output_points() const { return PointsOf(1, piece(0).taps); }

 private:
  // `length` outputs of a phase in tiles of nearly equal size, larger ones first.
  struct Grid {
    int64_t tiles = 0;
    int64_t large = 0;  // how many have `size` outputs, the others one less
    int64_t size = 1;
  };
  AxisTiling(const Axis& axis, int pieces);

  Grid Cut(int64_t length) const;
  int Outputs(int64_t size) const;
  int64_t PointsOf(int pieces, int taps) const;
  int IsShort(int piece) const { return piece >= long_pieces_ ? 1 : 0; }

  int64_t stride_ = 1, dilation_ = 1;
  int taps_ = 1, points_ = 1;
  int pieces_ = 1, long_pieces_ = 1;  // those that are not short have one tap more
  // [short][outputs]
  int sets_[2][kernels::kMaxOutputs + 1] = {};
  uint32_t masks_[2][kernels::kMaxOutputs + 1] = {};
  int64_t in_first_ = 0, out_first_ = 0;  // of the first tile
  Grid long_, short_;
  int64_t long_grids_ = 0, short_grids_ = 0;
};

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_AXIS_TILING_H_
