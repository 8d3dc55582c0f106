// The algorithm that multiplies before it moves: one product of out_backprop's pixels by all taps
// and result channels as columns, whose rows are then added up where they fall in in_backprop.
//
// For few result channels: taps times channels fill vectors, out_backprop is read in place, and
// what is left to add is small beside the product. Every product is one of the definition's, so
// zeros, Infs and NaNs need no care.
//
// Columns are seen in units of the stride, "groups": position w + pad_before lies in group
// (w + pad_before) / stride, and tap kw of out_backprop's column j in group j + kw / stride. So one
// row of taps covers `overlap` groups of `width` neighbours in memory, stride * inner, of which the
// last one may have `rest` only.
//
// With a stride of 1 and one channel at a time a group is a single element. Then the product may be
// turned: "lines", one per tap and channel, of neighbouring columns of out_backprop, with zeros at
// both ends, whose shifted sums are whole vectors (taps_lines.cc).
#ifndef DGRAD_ALGORITHMS_TAPS_TAPS_PLAN_H_
#define DGRAD_ALGORITHMS_TAPS_TAPS_PLAN_H_

#include <cstdint>
#include <string>

#include "src/algorithms/algorithm.h"
#include "src/algorithms/phases.h"
#include "src/kernels/taps/taps.h"

namespace dgrad::taps {

inline constexpr int64_t kMostChannels = 32;   // of the result
inline constexpr int64_t kMostColumns = 8192;  // of the product
inline constexpr int64_t kMostWidth = int64_t{1} << 31;
inline constexpr int64_t kMostTerms = int64_t{1} << 24;
inline constexpr int64_t kMostRing = int64_t{1} << 12;  // rows of out_backprop
inline constexpr int64_t kMaxTerms = 256;               // of a partial sum

struct TapsPlan : AlgorithmPlan {
  Problem problem;
  Isa isa = Isa::kScalar;
  int slots = 1;

  // Columns of the product: [plane][row tap][column tap][inner], then rounded up to whole vectors.
  // NHWC has its channels as `inner`, NCHW as planes.
  int64_t planes = 1, inner = 1;
  int64_t plane_columns = 1, vectors = 1;
  int64_t width = 1, overlap = 1, rest = 1;
  int64_t groups = 1, first_group = 0;  // that in_backprop's columns lie in
  int64_t chunks = 1;                   // of terms
  bool dots = false;                    // so few columns that terms are the lanes
  bool lines = false;                   // the product is turned

  int64_t compute_size = 4;
  int lanes = 1;
  int64_t dot_rows = 0;   // of the kernel; 0: it has none
  bool converts = false;  // rows of out_backprop are converted before they are multiplied

  // The grid of tasks, and the scratch of a slot in bytes. Products of `ring` rows are kept.
  int64_t row_blocks = 1, group_blocks = 1, ring = 1;
  int64_t ring_bytes = 0, line_bytes = 0, row_bytes = 0, sources_bytes = 0, slot_bytes = 0;

  std::string Describe() const override;
  std::string DescribeTasks() const;
  Status PrepareFilter(const void* filter, void* packed, Executor& executor,
                       const Control& control) const override;
  Status Run(const void* out_backprop, const void* packed, void* in_backprop, void* workspace,
             Executor& executor, const Control& control) const override;

  int64_t pitch() const { return dots ? kernels::kTapsDots : vectors * lanes; }  // of a product
  int64_t ring_row() const {  // elements of a row's products; dots come in whole vectors
    if (lines) return planes * plane_columns * line_pitch();
    return (block_columns() + kernels::kTapsDots - 1) / kernels::kTapsDots * kernels::kTapsDots *
           pitch();
  }
  // Most groups of a block, and most columns of out_backprop that it reads.
  int64_t block_groups() const { return (groups + group_blocks - 1) / group_blocks; }
  int64_t block_columns() const {
    const int64_t reach = block_groups() + overlap - 1;
    return reach < problem.columns.out ? reach : problem.columns.out;
  }
  // A line: a margin, whole vectors, what shifted vectors may reach behind them; an odd number of
  // vectors apart, so that lines do not fall on the same cache sets.
  int64_t line_margin() const { return (overlap - 1 + lanes - 1) / lanes * lanes; }
  int64_t line_pitch() const {
    const int64_t elements = line_margin() + block_groups() + 2 * (overlap - 1) + 2 * lanes;
    return ((elements + lanes - 1) / lanes | 1) * lanes;
  }
  // Lines read the planes of NCHW in place, unless many of them fall on the same cache sets.
  bool reads_planes() const {
    constexpr int64_t kPage = 4096;
    return problem.layout == Layout::kNchw && !converts &&
           (problem.out_channels <= 64 ||
            problem.rows.out * problem.columns.out * compute_size % kPage != 0);
  }
  // Elements from one channel of a converted or turned row of out_backprop to the next.
  int64_t source_pitch() const { return ((block_columns() + lanes - 1) / lanes | 1) * lanes; }

  // Rows of in_backprop in a block; cuts lie between groups of rows, so that few rows of
  // out_backprop are read on both sides.
  IndexRange RowsOf(int64_t block) const;
  // The row taps by which `row` of out_backprop falls into `rows` of in_backprop.
  IndexRange TapsWithin(int64_t row, const IndexRange& rows) const;
};

// Run with plan.lines.
Status RunLines(const TapsPlan& plan, const void* out_backprop, const void* packed,
                void* in_backprop, void* workspace, Executor& executor, const Control& control);

// Row taps of row h of in_backprop, each with the row of out_backprop that it meets.
template <typename Add>
void ForRowTaps(const Axis& rows, int64_t h, Add add) {
  for (int64_t tap = 0; tap < rows.taps; ++tap) {
    const int64_t position = h + rows.pad_before - tap * rows.dilation;
    if (position < 0) break;
    const int64_t row = position / rows.stride;
    if (row < rows.out && row * rows.stride == position) add(tap, row);
  }
}

}  // namespace dgrad::taps

#endif  // DGRAD_ALGORITHMS_TAPS_TAPS_PLAN_H_
