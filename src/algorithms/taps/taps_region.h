// What the loops over taps as columns and over taps as lines share: the regions that tasks compute,
// and the order in which their rows are multiplied and added up.
#ifndef DGRAD_ALGORITHMS_TAPS_TAPS_REGION_H_
#define DGRAD_ALGORITHMS_TAPS_TAPS_REGION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/algorithms/phases.h"
#include "src/algorithms/taps/taps_plan.h"
#include "src/base/integer.h"
#include "src/threads/partition.h"

namespace dgrad::taps {

// A part of one image, and a task's scratch. T: the compute type.
template <typename T>
struct Region {
  int64_t image;
  IndexRange rows;     // of in_backprop
  IndexRange groups;   // of its columns, pad_before added
  IndexRange columns;  // of out_backprop; may be empty
  T* ring;             // products of plan.ring rows, plan.ring_row() elements each
  T* line;             // a row of out_backprop, converted or turned
  T* row;              // a row of in_backprop
  const T** sources;   // rows.taps * overlap of them
  const T** taps;      // rows.taps of them
};

inline IndexRange PartAt(int64_t size, int64_t parts, int64_t index) {
  return {PartBegin(size, parts, index), PartBegin(size, parts, index + 1)};
}

inline int64_t RegionCount(const TapsPlan& plan) {
  return plan.problem.batch * plan.row_blocks * plan.group_blocks;
}

template <typename T>
Region<T> RegionAt(const TapsPlan& plan, int64_t index, std::byte* scratch) {
  Region<T> region;
  const int64_t block = index % plan.group_blocks;
  region.groups.begin = plan.first_group + PartBegin(plan.groups, plan.group_blocks, block);
  region.groups.end = plan.first_group + PartBegin(plan.groups, plan.group_blocks, block + 1);
  region.columns.begin = std::max<int64_t>(0, region.groups.begin - (plan.overlap - 1));
  region.columns.end = std::min(plan.problem.columns.out, region.groups.end);
  index /= plan.group_blocks;
  region.rows = plan.RowsOf(index % plan.row_blocks);
  region.image = index / plan.row_blocks;
  region.ring = reinterpret_cast<T*>(scratch);
  region.line = reinterpret_cast<T*>(scratch + plan.ring_bytes);
  region.row = reinterpret_cast<T*>(scratch + plan.ring_bytes + plan.line_bytes);
  region.sources =
      reinterpret_cast<const T**>(scratch + plan.ring_bytes + plan.line_bytes + plan.row_bytes);
  region.taps = region.sources + plan.problem.rows.taps * plan.overlap;
  return region;
}

// Calls multiply(row, taps) for each row of out_backprop that falls into the region by row taps
// [taps.begin, taps.end), and sum(h) for each row of in_backprop once the rows it meets are
// multiplied: at most plan.ring rows are in use at a time.
template <typename T, typename Multiply, typename Sum>
void ForRows(const TapsPlan& plan, const Region<T>& region, const Multiply& multiply,
             const Sum& sum) {
  const Axis& rows = plan.problem.rows;
  const IndexRange read = ReadRange(rows, region.rows.begin, region.rows.end);
  int64_t next = read.begin;
  for (int64_t h = region.rows.begin; h < region.rows.end; ++h) {
    const int64_t last = FloorDivide(h + rows.pad_before, rows.stride);
    for (; next < read.end && next <= last; ++next) {
      const IndexRange taps = plan.TapsWithin(next, region.rows);
      if (taps.begin < taps.end && region.columns.begin < region.columns.end) multiply(next, taps);
    }
    sum(h);
  }
}

}  // namespace dgrad::taps

#endif  // DGRAD_ALGORITHMS_TAPS_TAPS_REGION_H_
