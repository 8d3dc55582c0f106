// Pixels of in_backprop that no tap meets: they are zeros.
#ifndef DGRAD_ALGORITHMS_DIRECT_GAPS_H_
#define DGRAD_ALGORITHMS_DIRECT_GAPS_H_

#include <algorithm>
#include <cstdint>

#include "src/algorithms/direct/direct_plan.h"
#include "src/algorithms/phases.h"

namespace dgrad::direct {

// Whether a tap meets index h of an axis, for indices asked for one after the other. `phase_of(i)`
// is the phase of the i-th of `count` groups of neighbouring residues, `fold_of(i)` how many those
// are.
template <typename PhaseOf, typename FoldOf>
class Landings {
 public:
  Landings(const Axis& axis, int64_t count, PhaseOf phase_of, FoldOf fold_of)
      : axis_(axis), count_(count), phase_of_(phase_of), fold_of_(fold_of) {}

  bool Meets(int64_t h) {
    const int64_t residue = h % axis_.stride;
    if (group_ >= count_ || phase_of_(group_).residue > residue) group_ = 0;
    while (group_ < count_ && phase_of_(group_).residue + fold_of_(group_) <= residue) ++group_;
    if (group_ == count_ || phase_of_(group_).residue > residue) return false;
    const int64_t j = h / axis_.stride;
    return !SegmentAt(phase_of_(group_), axis_.out, j, j + 1).empty();
  }

 private:
  const Axis& axis_;
  const int64_t count_;
  const PhaseOf phase_of_;
  const FoldOf fold_of_;
  int64_t group_ = 0;
};

// Calls fill(row, column_begin, column_end) for all gaps of a rectangle of pixels.
template <typename Fill>
void ForEachGap(const DirectPlan& plan, IndexRange rows, IndexRange columns, const Fill& fill) {
  constexpr int kMostRuns = 256;  // of columns that are looked at once for all rows
  IndexRange runs[kMostRuns];
  Landings column_landings(
      plan.problem.columns, static_cast<int64_t>(plan.column_groups.size()),
      [&](int64_t i) -> const Phase& { return plan.column_groups[i].phase; },
      [&](int64_t i) { return plan.column_groups[i].fold; });
  Landings row_landings(
      plan.problem.rows, static_cast<int64_t>(plan.row_phases.size()),
      [&](int64_t i) -> const Phase& { return plan.row_phases[i]; }, [](int64_t) { return 1; });
  for (int64_t begin = columns.begin; begin < columns.end;) {
    int count = 0;
    int64_t column = begin;
    for (; column < columns.end; ++column) {
      if (column_landings.Meets(column)) continue;
      if (count > 0 && runs[count - 1].end == column) {
        ++runs[count - 1].end;
      } else if (count < kMostRuns) {
        runs[count++] = {column, column + 1};
      } else {
        break;
      }
    }
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      if (!row_landings.Meets(row)) {
        fill(row, begin, column);
        continue;
      }
      for (int i = 0; i < count; ++i) fill(row, runs[i].begin, runs[i].end);
    }
    begin = column;
  }
}

}  // namespace dgrad::direct

#endif  // DGRAD_ALGORITHMS_DIRECT_GAPS_H_
