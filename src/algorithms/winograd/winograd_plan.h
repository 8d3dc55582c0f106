// Winograd's short convolutions: fewer multiplications than the definition has.
//
// in_backprop is cut into tiles (axis_tiling.h). A task takes a block of tiles of all images and a
// range of channels:
//   input    out_backprop of each tile -> V [piece][plane][tile][out channel of the piece]
//   filter   of one block of channels  -> U [plane][out channel][in channel]
//   products M [plane][tile][in channel] = V U, by the direct algorithm's register tiles
//   output   M -> in_backprop
// Rounds: V holds one piece of the rows' taps at a time, and then M is kept for all channels of the
// task until the last of them. A plane is a pair of points, of rows and columns. V, a block's M and
// U are sized for the caches. Phases of a stride share V.
//
// The packed filter is that of the direct algorithm, a fourth of the transformed one. The
// transformed filter is made in each run, once for all tasks where it is small, else by each task
// for itself: that costs some 4 terms more per sum over the tiles of a block.
//
// Results that are not finite are computed again, by direct sums in the direct algorithm's order:
// values that are not finite spread over whole tiles, and transforms overflow where sums do not. A
// filter value that is not finite shows in all tiles, since most points see all taps.
#ifndef DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_PLAN_H_
#define DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/algorithms/algorithm.h"
#include "src/algorithms/blocks.h"
#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/winograd/axis_tiling.h"
#include "src/base/integer.h"
#include "src/threads/partition.h"

namespace dgrad::winograd {

inline constexpr int64_t kMostTerms = 128;   // of a partial sum, and of one piece of U
inline constexpr int64_t kGoodTiles = 56;    // of a block: four register tiles a plane
inline constexpr int64_t kMostTiles = 160;   // of a block: beyond, nothing is gained
inline constexpr int64_t kRunTiles = 16;     // neighbours that are transformed together
inline constexpr int64_t kChunkVectors = 4;  // of channels transformed together

// Costs, cycles.
inline constexpr double kTransform = 4.0;  // a vector of one point, in or out, both passes
inline constexpr double kFilter = 5.0;     // a vector of one point of the filter

// Where the taps of one phase of an axis stand in the direct algorithm's phases.
struct TapPlaces {
  int64_t phase = -1;      // index; -1: the phase has no tap
  int64_t tap[kMostTaps];  // by the index of out_backprop that they meet; -1: a zero
};

// Where the parts of a slot's scratch begin, bytes; each on a 64-byte boundary.
struct SlotLayout {
  int64_t v = 0, m = 0, u = 0, filter = 0, strip = 0, window = 0, staging = 0;
  int64_t offsets = 0, steps = 0, runs = 0;
  int64_t bytes = 0;
};

// Neighbouring tiles of one image and row of tiles that differ by their place alone.
struct TileRun {
  int64_t image = 0;
  AxisTile row, column;  // column: the first of them
  int64_t count = 0;
  int64_t first = 0;  // index in the block
};

struct WinogradPlan : AlgorithmPlan {
  Problem problem;
  Isa isa = Isa::kScalar;
  int slots = 1;
  std::unique_ptr<const direct::DirectPlan> fallback;

  AxisTiling rows, columns;
  std::vector<TapPlaces> row_taps, column_taps;  // by phase
  int64_t tiles = 0;                             // of all images

  bool same_points = false;  // all tiles have as many outputs as the family's points allow

  bool converts_in = false;  // out_backprop is not vectors of channels of the compute type
  bool stages_out = false;   // nor is in_backprop

  int lanes = 1;
  int64_t compute_size = 4;
  int64_t vectors = 1;      // of result channels, cut into blocks
  int64_t terms_pitch = 0;  // the longest piece's terms in whole vectors
  int64_t chunk = 0;        // channels of out_backprop that are transformed at a time

  // The grid of tasks.
  int64_t block_tiles = 1, tile_blocks = 1, channel_parts = 1;
  bool shared_filter = false;  // U is made once for all tasks
  int64_t shared_filter_bytes = 0;
  SlotLayout layout;

  std::string Describe() const override;
  Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                       const Control& control) const override;
  Status Run(const void* out_backprop, const void* packed, void* in_backprop, void* workspace,
             Executor& executor, const Control& control) const override;
  Status RunUnpacked(const void* out_backprop, const void* filter, void* in_backprop,
                     void* workspace, Executor& executor, const Control& control) const override;

  int64_t phases() const { return int64_t{rows.phases()} * columns.phases(); }
  int64_t planes() const { return int64_t{rows.points()} * columns.points(); }
  // Elements of a plane of V or M. The line more keeps planes apart in the sets of a cache.
  int64_t PlaneElements(int64_t pitch) const { return block_tiles * pitch + 64 / compute_size; }
  // Of M of a block and a phase.
  int64_t ProductElements(int64_t width) const { return planes() * PlaneElements(width); }
  int64_t WidestBlock() const {
    return BlockAt(vectors, BlockCount(vectors) - 1).count * int64_t{lanes};
  }
  // Pieces of the sum: pieces of taps of rows, of columns, and of terms. Those are the direct
  // algorithm's, each cut in two when longer than kMostTerms.
  int64_t pieces_per_chunk() const {
    return problem.out_channels > kMostTerms * fallback->term_chunks ? 2 : 1;
  }
  int64_t term_pieces() const { return fallback->term_chunks * pieces_per_chunk(); }
  int64_t tap_pieces() const { return int64_t{rows.pieces()} * columns.pieces(); }
  int64_t piece_count() const { return tap_pieces() * term_pieces(); }
  int64_t rounds() const { return rows.pieces(); }
  int64_t round_pieces() const { return columns.pieces() * term_pieces(); }
  // Blocks of channels whose M is kept at the same time, of a task on one of `parts` parts.
  int64_t kept_blocks(int64_t parts) const {
    return rounds() > 1 ? CeilDivide(BlockCount(vectors), parts) : 1;
  }
  int64_t longest_piece() const { return CeilDivide(problem.out_channels, term_pieces()); }
  // Terms of all pieces.
  int64_t terms_total() const { return tap_pieces() * problem.out_channels; }
  // Taps of all phases together, and of the column groups before one.
  int64_t taps_total() const {
    const direct::ColumnGroup& last = fallback->column_groups.back();
    return fallback->row_taps_total * (column_taps_before(last) + last.phase.taps);
  }
  int64_t column_taps_before(const direct::ColumnGroup& group) const {
    return group.packed_before / vectors;
  }
  // Elements of U before (block, phase); a block's phases and pieces follow each other.
  int64_t FilterOffset(Block block, int64_t phase) const {
    const int64_t columns_before = block.first * lanes * phases() + block.count * lanes * phase;
    return planes() * terms_total() * columns_before;
  }
};

// Block sizes, tasks and scratch; winograd_blocking.cc.
Status ChooseBlocking(const PlanContext& context, WinogradPlan* plan);

}  // namespace dgrad::winograd

#endif  // DGRAD_ALGORITHMS_WINOGRAD_WINOGRAD_PLAN_H_
